// Reads the list of prices that is built into orch, so that no command ever loads YAML for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const needed = ['input', 'output', 'cacheRead'];
const optional = ['cacheWrite5m', 'cacheWrite1h'];

/** What `templates/pricing.yaml` says; a mistake in it ends the build. */
export function readPrices(root) {
  const vendors = parse(readFileSync(join(root, 'templates', 'pricing.yaml'), 'utf8'));
  const dated = {};
  const models = {};
  for (const [vendor, list] of Object.entries(vendors)) {
    if (!/^\d{4}-\d\d-\d\d$/.test(list.dated))
      throw new Error(`pricing.yaml: ${vendor}: "dated" is not a date`);
    if (!/^https:\/\//.test(list.source))
      throw new Error(`pricing.yaml: ${vendor}: "source" is not an address`);
    dated[vendor] = list.dated;
    for (const [model, price] of Object.entries(list.models)) models[model] = readPrice(model, price);
  }
  return { dated, models };
}

function readPrice(model, price) {
  const isPrice = (value) => typeof value === 'number' && value >= 0;
  const unknown = Object.keys(price).filter((kind) => ![...needed, ...optional].includes(kind));
  const wrong = [
    ...needed.filter((kind) => !isPrice(price[kind])),
    ...optional.filter((kind) => price[kind] !== undefined && !isPrice(price[kind])),
  ];
  if (unknown.length + wrong.length > 0)
    throw new Error(`pricing.yaml: ${model}: wrong ${[...unknown, ...wrong].join(', ')}`);
  return { cacheWrite5m: null, cacheWrite1h: null, ...price };
}
