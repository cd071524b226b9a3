import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { convoy, makeConvoyed, ranEnvironment, statusesOf } from '../support/convoys.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, type TestRepository } from '../support/repository.ts';
import { shapeOf } from '../support/shapes.ts';
import { callOrch, writeConfig } from '../support/supervised.ts';

const plan = `name: auth
workers: 4
budget: 20
worker: { agent: sh ./agent.sh, attempts: 2 }
tasks:
  - { id: crash, prompt: fails at first, complexity: simple }
  - { id: first, prompt: a line, needs: [crash] }
  - { id: late, prompt: another line, needs: [crash] }
  - { id: gated, name: "<script>alert(1)</script> | **red**", prompt: red at first, needs: [late] }
  - { id: hopeless, prompt: always red, needs: [late], worker: { attempts: 1 } }
  - { id: asker, prompt: asks, needs: [late] }
  - { id: check, run: cat README, needs: [first] }
`;

const cost = (usd: string) => callOrch(`record cost ${usd} -q`);
const agent = `crash) ${cost('0.50')}; [ "$ORCH_ATTEMPT" = 1 ] && exit 7; ${cost('0.25')}; echo c > crash.txt;;
first) echo a >> README;;
late) if [ "$ORCH_ATTEMPT" = 1 ]; then while ! git show orch/auth/merged:README | grep -q a; do sleep 0.05; done; echo b >> README
  else printf 'hello\\na\\nb\\n' > README; fi;;
gated) ${cost('1')}; if [ "$ORCH_ATTEMPT" = 1 ]; then echo no > bad.txt; else rm bad.txt; echo ok > gated.txt; fi;;
hopeless) ${cost('2')}; echo no > bad.txt;;
asker) grep -q 'SES please' "$ORCH_PROMPT_FILE" && echo ses > mailer.txt || ${callOrch('ask "SES or <b>SMTP</b>?"')};;`;

const gate = `if [ -e bad.txt ]; then
  echo 'FAILED tests/test_login.py::test_logs_in - AssertionError'
  echo '========= 1 failed, 5 passed in 0.12s ========='
  exit 1
fi
`;

/** A convoy in which everything goes wrong that can, and most of it is made up for. */
function runBadConvoy(): TestRepository {
  const repository = makeConvoyed(plan, agent, gate);
  writeConfig(repository, 'gates: [{ name: tests, run: sh ./gate.sh }]\n');
  const started = convoy(repository, 'start');
  expect([started.status, started.stderr]).toEqual([75, started.stderr]);
  const env = ranEnvironment(repository);
  expect(runOrch(repository, ['convoy', 'say', 'asker', 'SES please'], { env }).status).toBe(0);
  const { document } = convoy(repository, 'resume');
  expect(statusesOf(document)).toEqual({
    ...{ crash: 'done', first: 'done', late: 'done', gated: 'done', hopeless: 'failed', asker: 'done' },
    check: 'done',
  });
  return repository;
}

/** Only the records stay. */
function loseAllButRecords(repository: TestRepository): void {
  const { git, folder } = repository;
  rmSync(join(folder, 'plan.yaml'));
  rmSync(`${folder}.orch`, { recursive: true, force: true });
  git('worktree', 'prune');
  const listed = git('worktree', 'list', '--porcelain').split('\n');
  const paths = listed.filter((line) => line.startsWith('worktree ')).map((line) => line.slice(9));
  for (const path of paths.slice(1)) git('worktree', 'remove', '--force', '--force', path);
  const branches = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/orch/').split('\n');
  for (const branch of branches) git('branch', '-D', branch);
}

const call = (repository: TestRepository, ...args: string[]) => runOrch(repository, ['convoy', ...args]);
const read = (repository: TestRepository, ...args: string[]) =>
  JSON.parse(call(repository, ...args, '--json').stdout);

describe('the report of a convoy', () => {
  it('says what it cost, what failed and why; its records alone are enough', () => {
    const repository = runBadConvoy();
    const { report } = read(repository, 'report');
    const taskOf = (id: string) => report.tasks.find((task: { id: string }) => task.id === id);
    expect(report.money).toMatchObject({ spentUsd: 7.25, otherUsd: 0, budget: { limitUsd: 20 } });
    expect(taskOf('crash').made).toMatchObject([
      { attempt: 1, costUsd: 0.5, refused: expect.stringContaining('The agent failed') },
      { attempt: 2, costUsd: 0.75, refused: null },
    ]);
    expect(taskOf('gated').made).toMatchObject([
      { red: [{ gate: 'tests', failing: ['tests/test_login.py::test_logs_in'] }], conflicts: [] },
      { red: [], refused: null },
    ]);
    expect(taskOf('late').made[0]).toMatchObject({ red: [], conflicts: ['README'] });
    expect(taskOf('hopeless')).toMatchObject({
      costUsd: 4,
      rejectedUsd: 4,
      status: 'failed',
      made: [{ costUsd: 2 }, { costUsd: 2 }],
    });
    expect(report.questions).toEqual([{ task: 'asker', text: 'SES or <b>SMTP</b>?', answer: 'SES please' }]);
    const { whole, working, forPeople, forMoney, paused, between } = taskOf('asker').time;
    expect(working + forPeople + forMoney + paused + between).toBeCloseTo(whole, 0);
    expect(report.left).toMatchObject([
      { task: 'hopeless', command: 'orch convoy why auth/hopeless' },
      { task: null, command: 'orch convoy resume auth' },
      { task: null, command: 'orch convoy land auth' },
    ]);

    const text = call(repository, 'report', 'auth').stdout;
    expect(text).toContain('# auth: failed');
    expect(text).toMatch(/\| `gated` \| 1 \|.*gate tests: tests\/test_login.py::test_logs_in/);
    expect(text).toMatch(/\| `late` \| 1 \|.*conflict in README/);
    expect(text).toContain('| `asker` | SES or \\<b>SMTP\\</b>? | SES please |');

    // One HTML file that loads and runs nothing, and shows markup as text.
    const ran = call(repository, 'report', '--html', 'report.html');
    expect(ran.stderr + ran.stdout).toContain('report.html has the report of auth');
    const html = readFileSync(join(repository.folder, 'report.html'), 'utf8');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; | **red**');
    expect(html).toContain('SES or &lt;b&gt;SMTP&lt;/b&gt;?');
    expect(html).not.toMatch(/<script|<b>|<img|<link|\bsrc=|\bhref=|url\(|@import|\son\w+="/i);
    expect([...html].filter((each) => each < ' ' && each !== '\n')).toEqual([]);
    expect(html).toContain('prefers-color-scheme: dark');
    const tags = [...html.matchAll(/<(\/?)(section|table|ul|li|tr|td|th|h2|code)\b/g)];
    expect(tags.filter(([, end]) => end).length).toBe(tags.filter(([, end]) => !end).length);
    expect(call(repository, 'report', '--html', 'no/such/report.html').status).toBe(2);

    // A key that is renamed, added or gone is seen here.
    // Whether a collision was seen before its merge is a matter of time.
    expect(shapeOf({ ...report, collisions: [] })).toMatchSnapshot('orch convoy report');
    expect(shapeOf(read(repository, 'report', '--all'))).toMatchSnapshot('orch convoy report --all');
    expect(shapeOf(read(repository, 'report', 'auth', '--against', 'auth'))).toMatchSnapshot(
      'orch convoy report --against',
    );
    expect(shapeOf(read(repository, 'reflect'))).toMatchSnapshot('orch convoy reflect');

    loseAllButRecords(repository);
    for (const args of [[], ['auth']]) {
      const after = read(repository, 'report', ...args).report;
      expect(after.money).toEqual(report.money);
      expect(after.questions).toEqual(report.questions);
      const without = ({ name: _, number: __, ...task }: Record<string, unknown>) => task;
      const sorted = (tasks: { id: string }[]) =>
        [...tasks].sort((a, b) => (a.id < b.id ? -1 : 1)).map(without);
      expect(sorted(after.tasks)).toEqual(sorted(report.tasks));
      expect(after.left.map(({ what }: { what: string }) => what)).toEqual([
        expect.stringContaining('it failed after 1 of 1 attempts'),
        'its plan is gone; to continue, bring back plan.yaml',
        'its merged branch is gone; the commits are listed under Merges',
      ]);
    }
    expect(read(repository, 'report', '--all').convoys).toMatchObject([
      { name: 'auth', done: 6, failed: 1, interventions: 1, firstAttempts: { accepted: 2, of: 6 } },
    ]);
  });
});

describe('learnings from convoys', () => {
  it('are proposed as a diff, written after a yes, and stay deleted once they were deleted', () => {
    const repository = runBadConvoy();
    const file = join(repository.folder, '.claude', 'rules', 'convoy-learnings.md');
    const shown = call(repository, 'reflect');
    expect(shown).toMatchObject({ status: 0 });
    expect(shown.stdout).toContain('+- Gate `tests` sent work back 3 times');
    expect(shown.stdout).toContain('`tests/test_login.py::test_logs_in`');
    expect(shown.stdout).toContain('conflicted in `README`');
    expect(shown.stdout).toContain('A worker asked `SES or <b>SMTP</b>?`, and was answered `SES please`');
    expect(shown.stdout).toContain('(seen in auth/asker)');
    expect(shown.stderr).toContain('orch convoy reflect -y');
    expect(existsSync(file)).toBe(false);

    // An agent may look, and not write.
    const byAgent = runOrch(repository, ['convoy', 'reflect', '-y'], { env: { CLAUDECODE: '1' } });
    expect(byAgent.status).toBe(2);
    expect(existsSync(file)).toBe(false);

    expect(call(repository, 'reflect', '-y').status).toBe(0);
    const written = readFileSync(file, 'utf8');
    expect(written.match(/^- /gm)).toHaveLength(3);
    expect(call(repository, 'reflect', '-y').stdout).toBe('Nothing new to learn.\n');
    expect(readFileSync(file, 'utf8')).toBe(written);

    const lines = written.split('\n');
    const kept = lines
      .filter((line) => !line.startsWith('- Gate'))
      .map((line) => line.replace('README', 'the README'));
    writeFileSync(file, kept.join('\n'));
    expect(call(repository, 'reflect').stdout).toBe('Nothing new to learn.\n');
    expect(call(repository, 'reflect', 'auth', '--again').stdout).toContain('+- Gate `tests`');
    expect(readFileSync(file, 'utf8')).toBe(kept.join('\n'));

    // Another file of the repository has its own; none is written elsewhere.
    expect(call(repository, 'reflect', '--file', '../rules.md', '-y').status).toBe(2);
    expect(existsSync(join(repository.folder, '..', 'rules.md'))).toBe(false);
    expect(call(repository, 'reflect', '--file', 'AGENTS.md', '-y').status).toBe(0);
    expect(readFileSync(join(repository.folder, 'AGENTS.md'), 'utf8')).toContain('- Gate `tests`');
  });

  it.runIf(hasTmux)('that a person declined are not proposed again, unless asked for', async () => {
    const repository = makeConvoyed(
      'name: auth\nworker: { agent: sh ./agent.sh, attempts: 2 }\ntasks:\n  - { id: a, prompt: do it }\n',
      'a) true;;',
    );
    expect(convoy(repository, 'start').status).toBe(3);
    const script = `'${process.execPath}' '${orchBin}' convoy reflect; echo "ended with $?"; exec cat`;
    const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const terminal = openTerminal(repository, 'sh', ['-c', script], env);
    await terminal.shows('Add 1 learning? [y/N]');
    terminal.press('n', 'Enter');
    await terminal.shows('ended with 1');
    expect(existsSync(join(repository.folder, '.claude'))).toBe(false);
    expect(call(repository, 'reflect').stdout).toBe('Nothing new to learn.\n');
    expect(call(repository, 'reflect', '--again').stdout).toContain('because of this: `Nothing was changed`');
  });
});
