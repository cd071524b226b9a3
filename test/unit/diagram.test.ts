import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { transition as moveTask, taskEvents, taskStates } from '../../src/convoy/work/task-transition.ts';
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

/** The same of a convoy's task; what leads to `held` and `cancelled` from nearly everywhere is said beside it. */
function drawTask(): string {
  const ways = taskStates.flatMap((from) =>
    taskEvents.flatMap((event) => {
      const to = moveTask(from, event);
      return to === null || event === 'held' || event === 'cancelled'
        ? []
        : [{ way: `${from} --> ${to}`, event }];
    }),
  );
  const lines = [...new Set(ways.map(({ way }) => way))].map((way) => {
    const events = ways.filter((each) => each.way === way).map(({ event }) => event);
    return `    ${way}: ${events.join(', ')}`;
  });
  return ['stateDiagram-v2', '    [*] --> waiting', ...lines].join('\n');
}

it('the state diagrams in IMPLEMENTATION.md are what the tables say', () => {
  const document = readFileSync(fileURLToPath(new URL('../../IMPLEMENTATION.md', import.meta.url)), 'utf8');
  const drawn = [...document.matchAll(/```mermaid\n([\s\S]*?)\n```/g)].map(([, text]) => text);
  expect(drawn).toEqual([drawStates(), drawTask()]);
});
