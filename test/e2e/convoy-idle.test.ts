import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type ConvoyDocument, makeConvoyed, ranEnvironment, statusesOf } from '../support/convoys.ts';
import { orchJson, runOrch, startOrch } from '../support/orch.ts';
import { callOrch, waitUntil, writeConfig } from '../support/supervised.ts';

/** Loaded into every node of a convoy: notes each process that is started, and each attempt to reach another one. */
const watcher = `const { appendFileSync } = require('node:fs');
const note = (what) => appendFileSync(process.env.WATCHED, process.pid + ' ' + what + '\\n');
const wrap = (of, name, describe) => {
  const own = of[name];
  of[name] = function (...args) { note(describe(...args)); return own.apply(this, args); };
};
const processes = require('node:child_process');
wrap(processes.ChildProcess.prototype, 'spawn', ({ args }) => 'starts ' + args.join(' '));
for (const name of ['spawnSync', 'execFileSync', 'execSync']) wrap(processes, name, (file) => 'starts ' + file);
wrap(require('node:net').Socket.prototype, 'connect', () => 'connects');
wrap(require('node:dgram').Socket.prototype, 'send', () => 'connects');
for (const name of ['lookup', 'resolve']) wrap(require('node:dns'), name, () => 'connects');
// Asked to, time runs faster in this process: every clock and every timer.
let factor = 1;
const clocks = [[Date, 'now', 1], [process, 'uptime', 1], [performance, 'now', 1]];
clocks.map(([of, name]) => { const own = of[name].bind(of); let [at, shown] = [own(), own()]; of[name] = () => {
  const now = own(); shown += (now - at) * factor; at = now; return shown; }; });
for (const name of ['setTimeout', 'setInterval']) {
  const own = globalThis[name];
  globalThis[name] = Object.assign((work, time, ...rest) => own(work, (time ?? 0) / factor, ...rest), own);
}
process.on('SIGUSR2', () => { for (const [of, name] of clocks) of[name](); factor = Number(process.env.FASTER); note('runs faster'); });
require('node:module').syncBuiltinESMExports();
`;
/** How many hours pass in one: the witness, leases, limits and looks for collisions all think that it is one hour later. */
const faster = 720;

it('C7: a convoy that waits for people for an hour starts no process and sends nothing', async () => {
  const repository = makeConvoyed(
    `name: auth
budget: 1
worker: { agent: sh ./agent.sh, attempts: 1 }
tasks:
  - { id: done, prompt: is done }
  - { id: asks, prompt: asks, worker: { budget: 0.1 } }
  - { id: poor, prompt: costs more than is left, needs: [done], worker: { budget: 2 } }
  - { id: open, prompt: is claimed by a person, worker: { agent: claim } }
`,
    `done) ${callOrch('record cost 0.60 -q')}; echo d > d.txt;; asks) ${callOrch("ask 'Which one?'")};; poor) echo p > p.txt;;`,
  );
  writeConfig(repository, 'notify: [{ name: log, file: ../notices.jsonl }]\n');
  const preload = join(repository.home, 'watcher.cjs');
  const watched = join(repository.home, 'watched');
  writeFileSync(preload, watcher);
  const env = {
    ...ranEnvironment(repository),
    WATCHED: watched,
    FASTER: String(faster),
    ORCH_TRUST: '1',
    NODE_OPTIONS: `--require ${preload}`,
  };
  const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml'], { env });
  const read = () => (existsSync(watched) ? readFileSync(watched, 'utf8').split('\n').filter(Boolean) : []);
  const show = () => orchJson<ConvoyDocument>(repository, ['convoy', 'show', 'plan.yaml']);
  await waitUntil(
    () => {
      const states = statusesOf(show());
      return states.done === 'done' && states.asks === 'needs_input' && states.poor === 'held';
    },
    () => JSON.stringify(statusesOf(show())),
  );
  expect(read().join('\n')).toContain('sh -c sh ./agent.sh');
  // What it did last is over once nothing was noted for a second.
  let [seen, since] = [read().length, Date.now()];
  await waitUntil(() => {
    if (read().length !== seen) [seen, since] = [read().length, Date.now()];
    return Date.now() - since > 1_000;
  });
  if (scheduler.pid !== undefined) process.kill(scheduler.pid, 'SIGUSR2');
  await waitUntil(() => read().some((line) => line.endsWith('runs faster')));
  seen = read().length;
  const began = Date.now();
  await waitUntil(() => Date.now() - began > 3_600_000 / faster);
  expect(read().slice(seen)).toEqual([]);
  expect(scheduler.exitCode).toBeNull();
  // Of what waits, people were told.
  const notices = readFileSync(join(repository.folder, '..', 'notices.jsonl'), 'utf8');
  const told = notices
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(told.map(({ kind, task }) => `${kind} ${task}`).sort()).toEqual(['budget poor', 'question asks']);
  // It does wait: with an order it continues.
  expect(runOrch(repository, ['convoy', 'cancel', 'auth', '-y']).status).toBe(0);
  await waitUntil(() => scheduler.exitCode !== null);
  expect(read().length).toBeGreaterThan(seen);
});
