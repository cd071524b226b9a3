import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { execute, type Finding, kindOf, makeInput, readSeed } from './execute.ts';
import { seeds } from './seeds.ts';
import { targets } from './targets.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string' },
    /** One execution again, by its number. */
    index: { type: 'string' },
    /** One input from a file. */
    input: { type: 'string' },
    /** A kept seed, by its place. */
    kept: { type: 'string' },
    out: { type: 'string', default: join(tmpdir(), 'orch-fuzz') },
  },
});

type Counts = { executions: number; accepted: number; refused: number; findings: number; ms: number };

const seed = Number(values.seed);
const asked = targets.filter(({ name }) => values.target === undefined || name.startsWith(values.target));
if (asked.length === 0)
  throw new Error(`no such target; there are ${targets.map(({ name }) => name).join(', ')}`);

/** One input hangs: this process cannot say so itself any more, so a thread of its own does. */
function watch(): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const source = `const { workerData } = require('node:worker_threads');
    let last = -1; let since = 0;
    setInterval(() => {
      const [target, index] = workerData.shared;
      const now = target * 2 ** 24 + index;
      since = now === last ? since + 1 : 0;
      last = now;
      if (since >= 30) {
        require('node:fs').writeSync(2, 'HANGS: target ' + workerData.names[target] + ' index ' + index + ' seed ' + workerData.seed + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
    }, 1000);`;
  const names = asked.map(({ name }) => name);
  new Worker(source, { eval: true, workerData: { shared, names, seed } }).unref();
  return shared;
}

const counts = new Map<string, Counts>();
const kinds = new Map<string, { count: number; first: Finding }>();

function keep(finding: Finding): void {
  const kind = kindOf(finding);
  const known = kinds.get(kind);
  if (known) {
    known.count++;
    return;
  }
  kinds.set(kind, { count: 1, first: finding });
  mkdirSync(values.out, { recursive: true });
  const name = `${finding.target}-${seed}-${finding.index}`;
  writeFileSync(join(values.out, name), finding.input);
  writeFileSync(join(values.out, `${name}.txt`), `${finding.problem}\n`);
  process.stderr.write(
    `FOUND ${kind}\n  seed ${seed} index ${finding.index}, ${finding.input.length} bytes: ${join(values.out, name)}\n`,
  );
}

function report(minutes: number): string {
  const rows = [...counts].map(([name, { executions, accepted, refused, findings, ms }]) =>
    [name.padEnd(24), executions, accepted, refused, findings, (ms / 1_000).toFixed(0)].join('\t'),
  );
  const total = [...counts.values()].reduce((sum, { executions }) => sum + executions, 0);
  const found = [...kinds].map(([kind, { count, first }]) => `${count}× ${kind} (index ${first.index})`);
  return [
    `seed ${seed}, ${minutes.toFixed(1)} minutes, ${total} executions, rss ${Math.round(process.memoryUsage.rss() / 1024 ** 2)} MB`,
    'target                  \texecutions\taccepted\trefused\tfindings\tseconds',
    ...rows,
    ...found,
    '',
  ].join('\n');
}

async function runAll(): Promise<void> {
  const minutes = Number(values.minutes);
  const shared = watch();
  const began = performance.now();
  const next = new Map(asked.map(({ name }) => [name, 0]));
  let reported = began;
  while (performance.now() - began < minutes * 60_000) {
    for (const [number, target] of asked.entries()) {
      const count = counts.get(target.name) ?? { executions: 0, accepted: 0, refused: 0, findings: 0, ms: 0 };
      counts.set(target.name, count);
      // Each gets its time, whatever one execution takes.
      const start = performance.now();
      while (performance.now() - start < 250 * (target.weight ?? 1)) {
        const index = next.get(target.name) ?? 0;
        next.set(target.name, index + 1);
        shared[0] = number;
        shared[1] = index;
        const { verdict, finding } = await execute(target, makeInput(target, seed, index), index);
        count.executions++;
        if (verdict !== null) count[verdict]++;
        if (finding !== null) {
          count.findings++;
          keep(finding);
        }
      }
      count.ms += performance.now() - start;
    }
    if (performance.now() - reported > 60_000) {
      reported = performance.now();
      process.stdout.write(`${report((reported - began) / 60_000)}\n`);
    }
  }
  process.stdout.write(`${report((performance.now() - began) / 60_000)}\n`);
}

const [only] = asked;
const kept = values.kept === undefined ? undefined : seeds[Number(values.kept)];
if (kept !== undefined) {
  const target = targets.find(({ name }) => name === kept.target);
  if (target === undefined) throw new Error(`no target ${kept.target}`);
  const { verdict, finding } = await execute(target, readSeed(kept), null);
  process.stdout.write(`${kept.target}, ${kept.found}: ${finding?.problem ?? verdict}\n`);
} else if (values.index !== undefined || values.input !== undefined) {
  if (only === undefined || values.target === undefined) throw new Error('name the target');
  const index = Number(values.index ?? 0);
  const made = makeInput(only, seed, index);
  const input =
    values.input !== undefined && existsSync(values.input) ? readFileSync(values.input) : made.input;
  const { verdict, finding } = await execute(only, { ...made, input }, index);
  process.stdout.write(`${finding?.problem ?? verdict}\n`);
} else await runAll();
