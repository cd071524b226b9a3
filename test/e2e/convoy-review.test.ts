import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { convoy, makeConvoyed, ranEnvironment, readMerged } from '../support/convoys.ts';
import { orchJson, runOrch, startOrch } from '../support/orch.ts';
import { callOrch, waitUntil } from '../support/supervised.ts';

/** A reviewer that answers with these findings, as JSON. */
const answer = (findings: string, file = 'login.txt') =>
  `printf '{"review":"%s","summary":"I read the whole diff.","files":["${file}"],"findings":[%s]}\\n' "$ORCH_REVIEW" '${findings}'`;
const plan = (review: string) => `name: auth
budget: 5
worker: { agent: sh ./agent.sh, attempts: 2 }
merge: { gates: none }
review: ${review}
tasks:
  - { id: login, prompt: adds a login }
`;
const work = `login) ${callOrch('record cost 0.10 -q')}; if [ $ORCH_ATTEMPT = 1 ]; then echo secret; else echo fine; fi > login.txt;;`;

it('what reviewers find grave goes back to the worker, the rest is deferred, and all of it is paid by the convoy', () => {
  const repository = makeConvoyed(plan('{ by: [sh ./review.sh, echo LGTM] }'), work);
  const high = '{"severity":"high","file":"login.txt","line":1,"title":"It logs the secret"}';
  const medium = '{"severity":"medium","file":"login.txt","line":1,"title":"Rename it"}';
  const low = '{"severity":"low","file":"login.txt","title":"Add a comment"}';
  repository.write(
    'review.sh',
    `${callOrch('record cost 0.05 -q')}
echo edited > login.txt; echo left > left.txt
if grep -q "^+secret" "$ORCH_DIFF_FILE"; then ${answer(`${high},${medium}`)}; else ${answer(low)}; fi
`,
  );
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  const { status, stderr, document } = convoy(repository, 'start');
  expect(status, stderr).toBe(0);
  expect(document.convoy.tasks[0]).toMatchObject({ status: 'done', attempts: 2, costUsd: 0.3 });
  // The review of the whole is the convoy's.
  expect(document.convoy.budget.spentUsd).toBeCloseTo(0.35);
  for (const more of [0.4, 0.45]) {
    expect(runOrch(repository, ['convoy', 'review']).status).toBe(0);
    const shown = orchJson<{ convoy: { budget: { spentUsd: number } } }>(repository, [
      'convoy',
      'show',
      'auth',
    ]);
    expect(shown.convoy.budget.spentUsd).toBeCloseTo(more);
  }
  // What a reviewer changed is not merged.
  expect(readMerged(repository, 'auth')).toMatchObject({ 'login.txt': 'fine' });
  expect(readMerged(repository, 'auth')).not.toHaveProperty('left.txt');
  expect(existsSync(join(`${repository.folder}.orch`, 'auth'))).toBe(false);
  const brief = runOrch(repository, ['brief', '-e', 'auth']).stdout;
  expect(brief).toContain('Add a comment (low, deferred, login.txt)');
  // What was deferred before, and is not found again, is done.
  expect(brief).toMatch(/Done:.*Rename it/);
  const asked = repository.git('show', 'orch/auth/login~1:login.txt');
  expect(asked).toBe('secret');
});

it('a task waits for a person if too few reviewers answer, and is merged once they do', () => {
  const repository = makeConvoyed(plan('{ by: [sh ./review.sh, echo LGTM], required: 2 }'), work);
  repository.write('review.sh', `${answer('')}\n`);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  const held = convoy(repository, 'start');
  expect(held.status).toBe(75);
  expect(held.document.convoy.tasks[0]).toMatchObject({
    status: 'held',
    attempts: 1,
    reason: 'it needs 2 reviews and has 1; echo LGTM: it gave no answer in the form that was asked for',
  });
  repository.write('plan.yaml', plan('{ by: [sh ./review.sh], required: 1 }'));
  const resumed = convoy(repository, 'resume');
  expect(resumed.status, resumed.stderr).toBe(0);
  expect(resumed.document.convoy.tasks[0]).toMatchObject({ status: 'done', attempts: 1 });
});

it('reviewers stop at what is left of the budget', () => {
  const repository = makeConvoyed(
    plan('{ by: [sh ./review.sh] }').replace('budget: 5', 'budget: 0.5'),
    work.replace('echo secret', 'echo fine'),
  );
  // It would go on for ever.
  repository.write(
    'review.sh',
    `while :; do ${callOrch('record cost 0.10 -q')} || exit 1; sleep 0.1; done\n`,
  );
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  const { status, document } = convoy(repository, 'start');
  expect(status).not.toBe(0);
  const { spentUsd } = orchJson<{ convoy: { budget: { spentUsd: number } } }>(repository, [
    'convoy',
    'show',
    'auth',
  ]).convoy.budget;
  expect(spentUsd).toBeGreaterThan(0.3);
  // At most the call in flight.
  expect(spentUsd).toBeLessThanOrEqual(0.6 + 1e-9);
  expect(document.convoy.tasks[0]?.status).not.toBe('done');
});

it('reviewers that are asked again, or when a convoy resumes, still have only what is left for the task', () => {
  const repository = makeConvoyed(
    plan('{ by: [sh ./review.sh] }').replace('attempts: 2', 'budget: 0.5'),
    work.replace('echo secret', 'echo fine'),
  );
  const script = join(repository.home, 'review.sh');
  repository.write('review.sh', `. ${script}\n`);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  writeFileSync(script, 'echo LGTM\n');
  expect(convoy(repository, 'start').status).toBe(75);
  // It would go on until the convoy's budget is used up.
  writeFileSync(script, `while :; do ${callOrch('record cost 0.10 -q')} || exit 1; sleep 0.1; done\n`);
  const { document } = convoy(repository, 'resume');
  expect(document.convoy.tasks[0]?.status).toBe('held');
  // At most the call in flight.
  expect(document.convoy.tasks[0]?.costUsd).toBeLessThanOrEqual(0.6 + 1e-9);
});

it('a review whose scheduler was killed is stopped, and made again by the next one', async () => {
  const repository = makeConvoyed(plan('{ by: [sh ./review.sh] }'), work.replace('echo secret', 'echo fine'));
  const began = join(repository.home, 'began');
  repository.write(
    'review.sh',
    `${callOrch('record cost 0.05 -q')}\n[ -e ${began} ] || { : > ${began}; sleep 60; }\n${answer('')}\n`,
  );
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  const scheduler = startOrch(repository, ['convoy', 'start', 'plan.yaml'], {
    env: ranEnvironment(repository),
  });
  await waitUntil(() => existsSync(began));
  scheduler.kill('SIGKILL');
  await waitUntil(() => scheduler.signalCode !== null);
  const { status, stderr, document } = convoy(repository, 'resume');
  expect(status, stderr).toBe(0);
  expect(document.convoy.tasks[0]).toMatchObject({ status: 'done', attempts: 1, costUsd: 0.2 });
  expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
});

it('all of it is reviewed at the end and on request: what is left decides whether it is ready to land', () => {
  const repository = makeConvoyed(
    plan('{ by: [sh ./review.sh] }').replace(
      '  - { id: login',
      '  - { id: search, prompt: adds a search }\n  - { id: login',
    ),
    `search) echo s > search.txt;;\n${work.replace('echo secret', 'echo fine')}`,
  );
  const high = '{"severity":"high","file":"search.txt","title":"It breaks the login"}';
  const medium = '{"severity":"medium","file":"login.txt","title":"Rename it"}';
  // Only together they are wrong.
  repository.write(
    'review.sh',
    `both=$(grep -c '^+++ b/\\(search\\|login\\).txt' "$ORCH_DIFF_FILE"); file=$(sed -n 's/^+++ b\\///p' "$ORCH_DIFF_FILE" | head -1)
if [ "$both" = 2 ]; then ${answer(`${high},${medium}`)}; elif [ "$file" = login.txt ]; then ${answer(medium)}; else ${answer('', 'search.txt')}; fi
`,
  );
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'reviewer');
  const { status, stderr } = convoy(repository, 'start');
  expect(status, stderr).toBe(0);
  expect(stderr).toContain('auth is reviewed as a whole …');
  expect(stderr).toContain('high  search.txt  It breaks the login');
  expect(stderr).toContain('Not ready to land (2 findings).');
  const again = runOrch(repository, ['convoy', 'review', '--json']);
  expect(again.status).toBe(3);
  expect(JSON.parse(again.stdout).review).toMatchObject({
    decision: 'sent_back',
    findings: [{ severity: 'high' }, { severity: 'medium' }],
  });
  repository.write('fine.sh', `${answer('')}\n`);
  const ready = runOrch(repository, ['convoy', 'review', '--by', `sh ${join(repository.folder, 'fine.sh')}`]);
  expect(ready.status, ready.stderr).toBe(0);
  expect(ready.stdout).toContain('Ready to land (0 findings');
  const none = runOrch(repository, ['convoy', 'review', '--by', 'echo LGTM']);
  expect(none.status).toBe(75);
  expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1);
});
