import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { saveCheckpoint } from '../../dist/index.js';

const runId = 'run-bench';

function taskFact(id, attempts, shards) {
  return {
    kind: 'task',
    run: runId,
    id: `t${id}`,
    status: 'succeeded',
    attempts,
    digest: '0123456789abcdef',
    artifacts: [],
    shards,
  };
}

/** Records a run in which so many tasks have succeeded. Returns what records one of them again, in a checkpoint. */
export async function recordRun(orch, epicId, count) {
  const shards = count <= 16 ? 0 : 3;
  const session = 'sess-bench';
  const head = { kind: 'run', run: runId, plan: 'p', digest: 'd', status: 'running', session, from: null };
  const tasks = Array.from({ length: count }, (_, id) => taskFact(id, 1, shards));
  const facts = [{ ...head, startedAt: 1, endedAt: null, shards }, ...tasks];
  await saveCheckpoint({ epicId, facts }, orch);
  let saved = 0;
  return async () => {
    saved += 1;
    await saveCheckpoint({ epicId, facts: [taskFact(saved % count, saved, shards)] }, orch);
  };
}

/** Tasks in layers as wide as they are deep; each needs up to three of the layer before it. */
function listTasks(count) {
  const width = Math.max(1, Math.round(Math.sqrt(count)));
  return Array.from({ length: count }, (_, n) => {
    const before = (Math.floor(n / width) - 1) * width;
    const near = before < 0 ? [] : [n, n * 7 + 3, n * 13 + 5].map((other) => before + (other % width));
    return { id: `t${n}`, needs: [...new Set(near)].map((other) => `t${other}`) };
  });
}

/** Writes a plan of that many tasks of `true`, and a Makefile with the same graph and commands. */
export function writeGraph(folder, count) {
  const tasks = listTasks(count);
  const lines = tasks.map(
    ({ id, needs }) => `  - { id: ${id}, run: "true", needs: [${needs.join(', ')}] }\n`,
  );
  writeFileSync(join(folder, 'plan.yaml'), `tasks:\n${lines.join('')}`);
  // The colon makes make start a shell for the command, as orch does.
  const rules = tasks.map(({ id, needs }) => `${id}: ${needs.join(' ')}\n\t@true; :\n`);
  writeFileSync(join(folder, 'Makefile'), `all: ${tasks.map(({ id }) => id).join(' ')}\n${rules.join('')}`);
  withoutSnapshots(folder);
}

export function withoutSnapshots(folder) {
  mkdirSync(join(folder, '.orchestration'), { recursive: true });
  writeFileSync(join(folder, '.orchestration', 'config.yaml'), 'checkpoint: { snapshot: false }\n');
}
