import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { factShape } from '../../src/state/fact-shape.ts';
import { transition } from '../../src/state/transition.ts';
import { statuses } from '../../src/types.ts';

/** The drawing in IMPLEMENTATION.md, as Mermaid: made by asking `transition`, so that it cannot be wrong. */
function drawStates(): string {
  const ways = new Map<string, string[]>();
  const kinds = factShape.def.options.map((option) => String(option.def.shape.kind.def.values[0]));
  for (const from of statuses)
    for (const kind of kinds) {
      const to = transition(from, { kind });
      if (to === null) continue;
      const way = `${from} --> ${to}`;
      ways.set(way, [...(ways.get(way) ?? []), kind]);
    }
  const lines = [...ways].map(([way, facts]) => `    ${way}: ${facts.join(', ')}`);
  return ['stateDiagram-v2', '    [*] --> initializing: session_started', ...lines].join('\n');
}

it('the state diagram in IMPLEMENTATION.md is what transition does', () => {
  const document = readFileSync(fileURLToPath(new URL('../../IMPLEMENTATION.md', import.meta.url)), 'utf8');
  const drawn = /```mermaid\n([\s\S]*?)\n```/.exec(document)?.[1];
  expect(drawn).toBe(drawStates());
});
