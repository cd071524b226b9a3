import { expect, it } from 'vitest';
import { isDeep, makeRandom } from '../support/depth.ts';
import { orchBin } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { startSupervisor, waitUntil, writeConfig } from '../support/supervised.ts';

/** A decision, values, a loop of a group, a loop of a task, a list, an effect, and an undo for most of it. */
const plan = `name: p
tasks:
  - id: scan
    run: 'echo scan >> $RAN; echo "{\\"TARGETS\\": [\\"api\\", \\"two words\\"], \\"N\\": 0}"; exit 2'
    may_fail: true
  - { id: careful, when: tasks.scan.exit == 2, run: echo careful >> $RAN, undo: echo undo careful >> $RAN }
  - { id: quick, when: tasks.scan.status == 'succeeded', run: echo quick >> $RAN }
  - id: mend
    needs: [careful, quick]
    repeat: { until: tasks.try.status == 'succeeded', attempts: 4, backoff: 1ms }
    tasks:
      - { id: try, run: 'echo try $ORCH_VALUE_N >> $RAN; test $ORCH_VALUE_N -ge 2', may_fail: true }
      - id: fix
        when: tasks.try.status == 'failed'
        run: 'echo fix $ORCH_VALUE_N >> $RAN; orch run set N $((ORCH_VALUE_N + 1))'
  - id: check
    foreach: values.TARGETS
    run: echo check $ORCH_ITEM >> $RAN
    undo: echo undo $ORCH_ITEM >> $RAN
  - id: again
    repeat: { until: values.M == '3', attempts: 5, backoff: 1ms }
    run: 'echo again $ORCH_ATTEMPT >> $RAN; echo "{\\"M\\": $ORCH_ATTEMPT}"'
  - id: ship
    run: echo ship >> $RAN
    undo: echo undo ship >> $RAN
    effects:
      - { id: tag, run: echo tag >> $RAN, check: grep -qx tag $RAN, undo: echo undo tag >> $RAN }
`.replace('orch run set', '"$NODE" "$ORCH_BIN" run set');

const done = [
  ...['scan', 'careful', 'try 0', 'fix 0', 'try 1', 'fix 1', 'try 2', 'check api', 'check two words'],
  ...['again 1', 'again 2', 'again 3', 'ship', 'tag'],
];
const undone = ['undo tag', 'undo ship', 'undo two words', 'undo api', 'undo careful'];

const withoutRepeats = (list: readonly string[]) => list.filter((each, index) => each !== list[index - 1]);

/** Kills `orch run` soon after it has done something, several times, and then lets it end. */
async function killUntilDone(repository: TestRepository, option: string, chance: () => number) {
  let kills = 0;
  for (let args: string[] = option === '--rollback' ? [option] : []; ; args = [option]) {
    const before = readRan(repository).length;
    const runner = startSupervisor(
      repository,
      ['run', 'plan.yaml', '--json', ...args],
      optionsOf(repository),
    );
    let isOver = false;
    const ended = runner.ended.then((status) => {
      isOver = true;
      return status;
    });
    if (kills < 8) {
      const more = Math.ceil(chance() * 3);
      await waitUntil(() => isOver || readRan(repository).length >= before + more);
      const timer = setTimeout(() => runner.signal('SIGKILL'), chance() * 150);
      await ended;
      clearTimeout(timer);
    }
    const status = await ended;
    if (status !== null) return { kills, status, stderr: runner.stderr(), stdout: runner.stdout() };
    kills++;
  }
}

function optionsOf(repository: TestRepository) {
  const { env } = ranIn(repository);
  return { env: { ...env, NODE: process.execPath, ORCH_BIN: orchBin } };
}

it('I3: a run with every kind of task, and its rollback, killed again and again, do each thing in its order', async () => {
  const chance = makeRandom(5);
  let kills = 0;
  for (const most = isDeep ? 300 : 30; kills < most; ) {
    const repository = makePlanned(plan);
    writeConfig(repository, 'checkpoint: { snapshot: false }\n');
    const run = await killUntilDone(repository, '--resume', chance);
    expect(run, run.stderr).toMatchObject({ status: 0 });
    // Only what was at work at a kill is repeated.
    expect(withoutRepeats(readRan(repository))).toEqual(done);
    expect(statusesOf(JSON.parse(run.stdout) as RunDocument)).toEqual({
      ...{ scan: 'failed', careful: 'succeeded', quick: 'skipped', try: 'succeeded', fix: 'skipped' },
      ...{ mend: 'succeeded', 'check[api]': 'succeeded', check: 'succeeded', again: 'succeeded' },
      ...{ 'check[a03f1d611645]': 'succeeded', ship: 'succeeded' },
    });
    const back = await killUntilDone(repository, '--rollback', chance);
    expect(back, back.stderr).toMatchObject({ status: 0 });
    expect(withoutRepeats(readRan(repository)).slice(done.length)).toEqual(undone);
    kills += run.kills + back.kills;
  }
}, 600_000);
