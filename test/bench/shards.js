import { execFileSync } from 'node:child_process';
import { openOrch } from '../../dist/index.js';
import { recordRun } from './long-run.js';
import { compare, measure } from './measure.js';
import { environment, makeRepository } from './scratch.js';

const few = 10;
const many = 10_000;

/** A repository in which all tasks of such a run have succeeded. */
async function prepare(count) {
  const folder = makeRepository();
  const orch = await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } });
  const save = await recordRun(orch, 'e', count);
  /** The bytes of the objects that one more checkpoint adds, as git stores them. */
  const weigh = async () => {
    await save();
    const list = [
      'rev-list',
      '--objects',
      'refs/orchestration/epics/e',
      '--not',
      'refs/orchestration/epics/e~1',
    ];
    const options = { cwd: folder, env: environment, encoding: 'utf8' };
    const oids = execFileSync('git', list, options).replace(/ .*$/gm, '');
    const format = '--batch-check=%(objectsize:disk)';
    const sizes = execFileSync('git', ['cat-file', format], { ...options, input: oids });
    return sizes
      .trim()
      .split('\n')
      .reduce((sum, size) => sum + Number(size), 0);
  };
  return { orch, save, weigh };
}

/** A checkpoint with one changed task: of a long run against a short one, in time and in bytes. */
export async function run() {
  const [short, long] = [await prepare(few), await prepare(many)];
  const times = await measure({ long: long.save, short: short.save }, { rounds: 60, warmUp: 10 });
  const bytes = { long: [], short: [] };
  for (let round = 0; round < 5; round++) {
    bytes.long.push((await long.weigh()) / 1_024);
    bytes.short.push((await short.weigh()) / 1_024);
  }
  long.orch.close();
  short.orch.close();
  const what = `a checkpoint with one changed task of ${many}`;
  const against = `of ${few}`;
  return [
    { what, against, ...compare(times.long, times.short), bar: 1.5 },
    { what: `${what}, stored`, against, ...compare(bytes.long, bytes.short), unit: 'KB', bar: 1.5 },
  ];
}
