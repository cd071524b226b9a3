// Reads the list of prices that is built into orch, so that no command ever loads YAML for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const kinds = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'];

/** What `templates/pricing.yaml` says; a mistake in it ends the build. */
export function readPrices(root) {
  const { dated, models } = parse(readFileSync(join(root, 'templates', 'pricing.yaml'), 'utf8'));
  if (!/^\d{4}-\d\d-\d\d$/.test(dated)) throw new Error('pricing.yaml: "dated" is not a date');
  for (const [model, price] of Object.entries(models)) {
    const unknown = Object.keys(price).filter((kind) => !kinds.includes(kind));
    const wrong = kinds.filter((kind) => !(typeof price[kind] === 'number' && price[kind] >= 0));
    if (unknown.length + wrong.length > 0)
      throw new Error(`pricing.yaml: ${model}: wrong ${[...unknown, ...wrong].join(', ')}`);
  }
  return { dated, models };
}
