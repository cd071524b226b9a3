import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../support/depth.ts';
import { startEffectServer } from '../support/effect-server.ts';
import { makePlanned, type RunDocument, ranIn, readRan } from '../support/plans.ts';
import { type Supervisor, startSupervisor, waitUntil, writeConfig } from '../support/supervised.ts';

/** A task, the tasks before it that it needs, and what it does to the world. */
type Part = { readonly needs: readonly number[]; readonly effects: readonly ('request' | 'command')[] };

/** When orch is killed: with a request on its way, soon after something was done, or some time after its start. */
type Death =
  | { readonly kind: 'request'; readonly behaviour: 'refuses' | 'drops' }
  | { readonly kind: 'done'; readonly more: number }
  | { readonly kind: 'time'; readonly after: number };

const part: fc.Arbitrary<Part> = fc.record({
  needs: fc.uniqueArray(fc.nat({ max: 3 }), { maxLength: 2 }),
  effects: fc.array(fc.constantFrom('request', 'command'), { maxLength: 2 }),
});
const death: fc.Arbitrary<Death> = fc.oneof(
  fc.record({ kind: fc.constant('request'), behaviour: fc.constantFrom('refuses', 'drops') }),
  fc.record({ kind: fc.constant('done'), more: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('time'), after: fc.integer({ min: 50, max: 800 }) }),
);

const needsOf = ({ needs }: Part, index: number) => needs.filter((need) => need < index);
const effectsOf = ({ effects }: Part, index: number) =>
  effects.map((kind, at) => ({ kind, id: `e${index}${at}` }));

/** A plan in which every task and every effect says in the same file that it was done: `t0`, `e00`, `e01`, `t1` … */
function writePlan(parts: readonly Part[], url: string): string {
  const tasks = parts.map((each, index) => {
    const needs = needsOf(each, index).map((need) => `t${need}`);
    const effects = effectsOf(each, index).map(({ kind, id }) =>
      kind === 'request'
        ? `{ id: ${id}, request: { url: "${url}/${id}" } }`
        : `{ id: ${id}, run: "echo ${id} >> $RAN", check: "grep -qx ${id} $RAN" }`,
    );
    const task = `id: t${index}, run: "echo t${index} >> $RAN", files: [f${index}]`;
    return `  - { ${task}, needs: [${needs.join(', ')}], effects: [${effects.join(', ')}] }\n`;
  });
  return `name: p\ntasks:\n${tasks.join('')}`;
}

/** What must have been done for the last time before another thing is done for the first. */
function listOrders(parts: readonly Part[]): [before: string, after: string][] {
  const chains = parts.map((each, index) => [`t${index}`, ...effectsOf(each, index).map(({ id }) => id)]);
  return parts.flatMap((each, index) => {
    const own = chains[index] ?? [];
    const within = own.slice(1).map((id, at): [string, string] => [own[at] ?? '', id]);
    const across = needsOf(each, index).map((need): [string, string] => [
      chains[need]?.at(-1) ?? '',
      `t${index}`,
    ]);
    return [...within, ...across];
  });
}

async function survive(parts: readonly Part[], deaths: readonly Death[], jobs: number): Promise<void> {
  let running: Supervisor | null = null;
  let atRequest: Extract<Death, { kind: 'request' }> | null = null;
  const server = await startEffectServer(({ path }) => {
    const behaviour = atRequest?.behaviour ?? { status: 200 };
    if (atRequest) running?.signal('SIGKILL');
    atRequest = null;
    if (behaviour !== 'refuses') appendFileSync(ranIn(repository).env.RAN ?? '', `${path.slice(1)}\n`);
    return behaviour;
  });
  const repository = makePlanned(writePlan(parts, server.url));
  // Snapshots have kills of their own; here they would only take time.
  writeConfig(repository, 'checkpoint: { snapshot: false }\n');
  const start = (args: readonly string[]) =>
    startSupervisor(
      repository,
      ['run', 'plan.yaml', '--json', '--jobs', String(jobs), ...args],
      ranIn(repository),
    );

  let killed = 0;
  let isBegun = false;
  for (const each of deaths) {
    const before = readRan(repository).length;
    atRequest = each.kind === 'request' ? each : null;
    const runner = start(isBegun ? ['--resume'] : ['--fresh']);
    running = runner;
    let isOver = false;
    const ended = runner.ended.then((status) => {
      isOver = true;
      return status;
    });
    if (each.kind === 'done') {
      await waitUntil(() => isOver || readRan(repository).length >= before + each.more);
      runner.signal('SIGKILL');
    }
    const timer = each.kind === 'time' ? setTimeout(() => runner.signal('SIGKILL'), each.after) : undefined;
    const status = await ended;
    clearTimeout(timer);
    if (status === null) killed++;
    else expect({ status, stderr: runner.stderr() }).toMatchObject({ status: 0 });
    // Killed before it was durable that it began, it has not: there is nothing to go on with, and nothing was done.
    const list = startSupervisor(repository, ['run', '--list', '--json'], ranIn(repository));
    isBegun = (await list.ended) === 0 && JSON.parse(list.stdout()).runs.length > 0;
    if (!isBegun) expect(readRan(repository)).toEqual([]);
  }
  atRequest = null;
  const last = start(isBegun ? ['--resume'] : []);
  expect({ status: await last.ended, stderr: last.stderr() }).toMatchObject({ status: 0 });
  const { run }: RunDocument = JSON.parse(last.stdout());

  const effects = parts.flatMap(effectsOf).map(({ id }) => id);
  const all = [...parts.map((_, index) => `t${index}`), ...effects].sort();
  const ran = readRan(repository);
  expect([...new Set(ran)].sort(), 'all of it is done, and nothing else').toEqual(all);
  expect(ran.length, 'only what was under way at a death is repeated').toBeLessThanOrEqual(
    all.length + killed * jobs,
  );
  for (const [before, after] of listOrders(parts))
    expect(ran.lastIndexOf(before), `${before} before ${after}`).toBeLessThan(ran.indexOf(after));
  expect(run.tasks.map(({ status }) => status)).toEqual(parts.map(() => 'succeeded'));
  expect(run.effects.map(({ id, status }) => `${id} ${status}`)).toEqual(
    effects.map((id) => `${id} acknowledged`),
  );
  for (const { path, key } of server.received)
    expect(key, 'one key in every replay').toBe(run.effects.find(({ id }) => path === `/${id}`)?.key);
}

it('I2 I3: any plan, killed anywhere again and again, does each task and effect as one that was not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 2, maxLength: 4 }),
      fc.array(death, { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 2 }),
      survive,
    ),
    {
      numRuns: runs(3),
      endOnFailure: true,
    },
  );
}, 600_000);
