import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { listTransitions } from '../../src/state/transition.ts';

/** The drawing in IMPLEMENTATION.md, as Mermaid: made of the table, so that it cannot be wrong. */
function drawStates(): string {
  const ways = new Map<string, string[]>();
  for (const { from, fact, to } of listTransitions()) {
    const way = `${from} --> ${to}`;
    ways.set(way, [...(ways.get(way) ?? []), fact]);
  }
  const lines = [...ways].map(([way, facts]) => `    ${way}: ${facts.join(', ')}`);
  return ['stateDiagram-v2', '    [*] --> initializing: session_started', ...lines].join('\n');
}

it('the state diagram in IMPLEMENTATION.md is what transition does', () => {
  const document = readFileSync(fileURLToPath(new URL('../../IMPLEMENTATION.md', import.meta.url)), 'utf8');
  const drawn = /```mermaid\n([\s\S]*?)\n```/.exec(document)?.[1];
  expect(drawn).toBe(drawStates());
});
