import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { convoy, makeConvoyed, readAttempts, readMerged } from '../support/convoys.ts';
import { runOrch } from '../support/orch.ts';
import { writeConfig } from '../support/supervised.ts';

const plan = `name: auth
worker: { agent: sh ./agent.sh, attempts: 3, tests: first }
tasks:
  - { id: add, prompt: adds two numbers }
`;
/** Runs every test there is, as a gate. */
const gates =
  "gates: [{ name: test, run: 'for each in *.test.sh; do [ ! -e $each ] || sh $each || exit 1; done' }]\n";

/** A repository whose worker does a step in each session, in this order. */
function makeSteps(steps: readonly string[]) {
  const cases = steps.map((step, at) => `${at + 1}) ${step};;`).join('\n');
  const repository = makeConvoyed(
    plan,
    `add) COUNT="$RAN.count"; n=$(($(cat "$COUNT" 2>/dev/null || echo 0) + 1)); echo $n > "$COUNT"; cp "$ORCH_PROMPT_FILE" "$COUNT.$n"; case $n in\n${cases}\nesac;;`,
  );
  writeConfig(repository, gates);
  repository.git('add', '.orchestration');
  repository.git('commit', '--quiet', '--message', 'gates');
  const prompt = (session: number) => readFileSync(join(repository.home, `ran.count.${session}`), 'utf8');
  return { repository, prompt };
}
const writeTest = 'echo "[ \\"\\$(sh add.sh 1 2)\\" = 3 ]" > add.test.sh';
const implement = "echo 'echo $(($1 + $2))' > add.sh";

it('tests are seen to fail before the task is implemented, and to pass before it is merged', () => {
  const { repository, prompt } = makeSteps([writeTest, implement]);
  const { status, stderr, document } = convoy(repository, 'start');
  expect(status, stderr).toBe(0);
  expect(document.convoy.tasks[0]).toMatchObject({ status: 'done', attempts: 1 });
  expect(prompt(1)).toContain('Begin with the tests, and write nothing else yet');
  expect(prompt(2)).toContain(
    'The tests you wrote fail, as they should (test). Now implement what they test',
  );
  expect(readMerged(repository, 'auth')).toHaveProperty('add.test.sh');
  expect(readAttempts(repository)).toEqual(['add 1', 'add 1']);
});

it('tests that pass at once, and tests that are deleted later, go back', () => {
  const { repository, prompt } = makeSteps([
    'echo true > add.test.sh',
    writeTest,
    'rm add.test.sh; echo x > add.sh',
    `git checkout --quiet HEAD~1 -- add.test.sh; ${implement}`,
  ]);
  const { status, stderr, document } = convoy(repository, 'start');
  expect(status, stderr).toBe(0);
  expect(document.convoy.tasks[0]).toMatchObject({ status: 'done', attempts: 3 });
  expect(prompt(2)).toContain('The tests you wrote do not fail: all gates pass.');
  expect(prompt(4)).toContain('Tests that you wrote first are gone: add.test.sh. Bring them back.');
});

it.each([
  {
    fresh: false,
    third: `git checkout --quiet HEAD~1 -- add.test.sh; ${implement}`,
    says: 'The tests you wrote fail',
  },
  { fresh: true, third: writeTest, says: 'Begin with the tests' },
])('a failed task continues with its tests, and without them if it starts over ($fresh)', (row) => {
  const { repository, prompt } = makeSteps([
    ...[writeTest, 'rm add.test.sh; echo x > add.sh', row.third],
    implement,
  ]);
  repository.write('plan.yaml', plan.replace('attempts: 3', 'attempts: 1'));
  expect(convoy(repository, 'start').document.convoy.tasks[0]).toMatchObject({ status: 'failed' });
  if (row.fresh) expect(runOrch(repository, ['convoy', 'retry', 'add', '--fresh']).status).toBe(0);
  const { status, stderr } = convoy(repository, 'resume');
  expect(status, stderr).toBe(0);
  expect(prompt(3)).toContain(row.says);
  expect(readMerged(repository, 'auth')).toHaveProperty('add.test.sh');
});

it('a task whose tests no gate could run is held with the reason', () => {
  const { repository } = makeSteps([writeTest]);
  writeConfig(repository, 'gates: []\n');
  repository.git('commit', '--quiet', '--all', '--message', 'no gates');
  const { status, document } = convoy(repository, 'start');
  expect(status).toBe(75);
  expect(document.convoy.tasks[0]?.reason).toContain('no gate can show that they fail');
});
