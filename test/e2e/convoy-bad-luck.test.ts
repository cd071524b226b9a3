import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Convoyed,
  convoy,
  makeConvoyed,
  ranEnvironment,
  readAttempts,
  readMerged,
  statusesOf,
} from '../support/convoys.ts';
import { errorOf, runOrch, startOrch } from '../support/orch.ts';
import { callOrch, waitUntil, writeConfig } from '../support/supervised.ts';

const head = 'name: auth\nworkers: 4\nworker: { agent: sh ./agent.sh, attempts: 1 }\n';

function reasonOf({ document }: Convoyed, task: string): string | null | undefined {
  return document.convoy.tasks.find(({ id }) => id === task)?.reason;
}

const untilMerged = (file: string) =>
  `while ! git cat-file -e orch/auth/merged:${file} 2>/dev/null; do sleep 0.05; done`;

describe('a convoy with bad luck', () => {
  it('holds a task whose prompt is in a file that is not there, and does it once it is', () => {
    const repository = makeConvoyed(
      `${head}tasks: [{ id: a, prompt: { file: a.md } }]\n`,
      'a) echo a > a.txt;;',
    );
    const first = convoy(repository, 'start');
    expect(first.status).toBe(75);
    expect(reasonOf(first, 'a')).toBe('its prompt is in a.md, and there is no such file');
    repository.write('a.md', 'Make a.\n');
    expect(statusesOf(convoy(repository, 'resume').document)).toEqual({ a: 'done' });
  });

  it('runs a setup that failed again, before any worker starts; the task holds up no other', () => {
    const repository = makeConvoyed(
      `name: auth
workers: 1
worker: { agent: sh ./agent.sh, attempts: 1 }
tasks:
  - { id: a, prompt: needs setup, worker: { setup: 'test -e "$RAN.ready" && echo installed > installed.txt' } }
  - { id: b, prompt: needs nothing }
`,
      'a) cat installed.txt > a.txt;; b) echo b > b.txt;;',
    );
    const first = convoy(repository, 'start');
    expect(statusesOf(first.document)).toEqual({ a: 'held', b: 'done' });
    writeFileSync(join(repository.home, 'ran.ready'), '');
    expect(statusesOf(convoy(repository, 'resume').document)).toEqual({ a: 'done', b: 'done' });
    expect(readMerged(repository, 'auth')['a.txt']).toBe('installed');
  });

  it('C5: never merges conflict markers, nor takes a branch whose work was dropped for done', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: a, prompt: a }
  - { id: leaves, prompt: leaves a merge }
  - { id: drops, prompt: drops its work, worker: { attempts: 2 } }
`,
      `a) echo a > README; echo a > a.txt;;
leaves) echo b > README; git commit -qam b; ${untilMerged('a.txt')}; git merge orch/auth/merged; true;;
drops) if [ "$ORCH_ATTEMPT" = 1 ]; then ${untilMerged('a.txt')}; echo d > README; else git reset -q --hard orch/auth/merged; fi;;`,
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'done', leaves: 'failed', drops: 'failed' });
    expect(reasonOf(ran, 'leaves')).toContain('A merge is not finished, in README');
    expect(reasonOf(ran, 'drops')).toContain('nothing that is not on orch/auth/merged already');
    expect(readMerged(repository, 'auth').README).toBe('a');
  });

  it('C2: keeps what a worker leaves in a repository of its own, after a crash of git, or when it fails', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: nests, prompt: a repository inside }
  - { id: locks, prompt: a git that was killed }
  - { id: unlinks, prompt: deletes .git }
  - { id: fails, prompt: fails }
`,
      `nests) git init -q inner && cd inner && git -c user.name=N -c user.email=n@e commit -q --allow-empty -m own && git log -1 --format=%s && echo precious > file;;
locks) echo l > l.txt; touch "$(git rev-parse --git-dir)/index.lock";;
unlinks) echo u > u.txt; rm .git;;
fails) echo f > f.txt; exit 1;;`,
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({
      ...{ nests: 'failed', locks: 'done', unlinks: 'done', fails: 'failed' },
    });
    expect(reasonOf(ran, 'nests')).toContain('inner/');
    expect(readMerged(repository, 'auth')).toMatchObject({ 'l.txt': 'l', 'u.txt': 'u' });
    expect(repository.git('show', 'orch/auth/fails:f.txt')).toBe('f');
  });

  it('commands run in the files of what is merged, not of what was refused', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - { id: bad, prompt: bad, may_fail: true }
  - { id: look, needs: [bad], run: test ! -e bad.txt }
`,
      'bad) echo no > bad.txt;;',
    );
    writeConfig(repository, 'gates: [{ name: nobad, run: test ! -e bad.txt }]\n');
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ bad: 'failed', look: 'done' });
  });

  it('a convoy that was landed starts again from where the branch is by then', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: one more line }\n`,
      'a) echo a >> README;;',
    );
    expect(convoy(repository, 'start').status).toBe(0);
    expect(runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y']).status).toBe(0);
    repository.write('own.txt', 'own\n');
    repository.git('add', 'own.txt');
    repository.git('commit', '--quiet', '--message', 'own');
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done' });
    expect(readMerged(repository, 'auth')).toMatchObject({ README: 'hello\na\na', 'own.txt': 'own' });
  });

  it('what is merged and not landed is not done again; --fresh begins anew and keeps it', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: one more line }\n`,
      'a) echo "a $(wc -l < "$RAN")" >> README;; b) echo b > b.txt;;',
    );
    expect(convoy(repository, 'start').status).toBe(0);
    const merged = repository.git('rev-parse', 'orch/auth/merged');
    const again = convoy(repository, 'start');
    expect(again.stderr).toContain('auth is done but not landed');
    expect(statusesOf(again.document)).toEqual({ a: 'done' });
    expect(repository.git('rev-parse', 'orch/auth/merged')).toBe(merged);
    const longer = `${head}tasks:\n  - { id: a, prompt: one more line }\n  - { id: b, prompt: b }\n`;
    repository.write('plan.yaml', longer);
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository)).toEqual(['a 1', 'b 1']);
    const preview = runOrch(repository, ['convoy', 'start', 'plan.yaml', '--dry-run']);
    expect(preview.stdout).toContain('nothing left to do');
    expect(preview.stderr).toContain('auth is done but not landed');
    const old = ['a', 'b', 'merged'].map((name) => repository.git('rev-parse', `orch/auth/${name}`));
    const fresh = convoy(repository, 'start', '--fresh');
    expect(statusesOf(fresh.document)).toEqual({ a: 'done', b: 'done' });
    expect(readMerged(repository, 'auth').README).toMatch(/^hello\na [34]$/);
    const kept = ['a', 'b', 'merged'].map((name) => `orch/auth/${name}.kept-1`);
    expect(kept.map((branch) => repository.git('rev-parse', branch))).toEqual(old);
    for (const branch of kept) expect(fresh.stderr).toContain(branch);
  });

  it('C6: what adopted workers may still spend is not promised to others', async () => {
    const repository = makeConvoyed(
      `${head}budget: 2
tasks:
  - { id: a, prompt: slow, worker: { budget: 1.5 } }
  - { id: b, prompt: fast }
`,
      'a) while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo a > a.txt;; b) echo b > b.txt;;',
    );
    const first = startOrch(repository, ['convoy', 'start', 'plan.yaml', '--workers', '1'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => readAttempts(repository).length === 1);
    first.kill('SIGKILL');
    await waitUntil(() => first.signalCode !== null);
    const second = startOrch(repository, ['convoy', 'resume', 'plan.yaml', '--json'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => readAttempts(repository).length === 2);
    const { budget } = JSON.parse(
      runOrch(repository, ['session', 'status', '-e', 'auth--b', '--json']).stdout,
    ) as { budget: { limitUsd: number } };
    expect(budget.limitUsd).toBeLessThanOrEqual(0.5);
    repository.write('../ran.go', '');
    await waitUntil(() => second.exitCode !== null);
  });

  it('a worker that still runs is adopted before any other begins, so there are never more than there may be', async () => {
    const repository = makeConvoyed(
      `${head.replace('workers: 4', 'workers: 1')}tasks:
  - { id: a, prompt: fails at first, files: [x.txt] }
  - { id: b, prompt: slow, files: [x.txt] }
`,
      `a) [ -e "$RAN.b" ] || exit 1; [ -e "$RAN.go" ] || echo beside > "$RAN.beside"; echo a > a.txt;;
b) echo > "$RAN.b"; while [ ! -e "$RAN.go" ]; do sleep 0.05; done; echo b > b.txt;;`,
    );
    const env = ranEnvironment(repository);
    const first = startOrch(repository, ['convoy', 'start', 'plan.yaml'], { env });
    await waitUntil(() => readAttempts(repository).includes('b 1'));
    first.kill('SIGKILL');
    await waitUntil(() => first.signalCode !== null);
    const second = startOrch(repository, ['convoy', 'resume', 'plan.yaml'], { env });
    const slots = join(repository.folder, '.git', 'orchestration', 'slots');
    const isAdopted = () =>
      readdirSync(slots).some((name) => {
        const slot = readFileSync(join(slots, name), 'utf8');
        return slot.includes('"auth--b"') && slot.includes(`"pid":${second.pid},`);
      });
    await waitUntil(() => isAdopted() || readAttempts(repository).length > 2);
    repository.write('../ran.go', '');
    await waitUntil(() => second.exitCode !== null);
    expect(statusesOf(convoy(repository, 'show').document)).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository)).toEqual(['a 1', 'b 1', 'a 1']);
    expect(existsSync(join(repository.home, 'ran.beside'))).toBe(false);
  });

  it('C6: a worker that used up the budget continues with more', () => {
    const repository = makeConvoyed(
      `${head}budget: 1\ntasks:\n  - { id: a, prompt: costs }\n`,
      `a) if [ -e half.txt ]; then echo a > a.txt; else echo half > half.txt; ${callOrch('record cost 1.20 -q')}; sleep 60; fi;;`,
    );
    const ran = convoy(repository, 'start');
    expect(ran.status).toBe(4);
    expect(reasonOf(ran, 'a')).toContain("what the convoy's budget had left");
    const more = convoy(repository, 'resume', '--budget', '+2');
    expect(more.document.convoy.tasks).toMatchObject([{ status: 'done', attempts: 1 }]);
    expect(readMerged(repository, 'auth')).toMatchObject({ 'half.txt': 'half', 'a.txt': 'a' });
  });

  it('an attempt that waits for money across a restart is still to be made, and is not judged by the one before', () => {
    const repository = makeConvoyed(
      `${head}budget: 1
tasks:
  - { id: a, prompt: costs }
  - { id: b, prompt: fails at first, needs: [a], worker: { attempts: 2 } }
`,
      `a) ${callOrch('record cost 0.50 -q')}; echo a > a.txt;;
b) [ "$ORCH_ATTEMPT" = 1 ] && { ${callOrch('record cost 0.48 -q')}; exit 1; }; echo b > b.txt;;`,
    );
    const first = convoy(repository, 'start');
    expect(statusesOf(first.document)).toEqual({ a: 'done', b: 'held' });
    const more = convoy(repository, 'resume', '--budget', '+2');
    expect(statusesOf(more.document)).toEqual({ a: 'done', b: 'done' });
    expect(readAttempts(repository)).toEqual(['a 1', 'b 1', 'b 2']);
  });

  it('C4: a loop of prompts takes a new lease in each round, and merges what each round did', () => {
    const repository = makeConvoyed(
      `${head}tasks:
  - id: loop
    repeat: { until: tasks.look.status == 'succeeded', attempts: 3, backoff: 10ms }
    tasks:
      - { id: try, prompt: one more line }
      - { id: look, needs: [try], run: test $(wc -l < lines.txt) = 2, may_fail: true }
`,
      'try) echo line >> lines.txt;;',
    );
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toMatchObject({ loop: 'done', try: 'done', look: 'done' });
    expect(readMerged(repository, 'auth')['lines.txt']).toBe('line\nline');
    const format = '--format=%(trailers:key=Orch-Lease,valueonly)';
    const leases = repository.git('log', '--merges', format, 'orch/auth/merged').split('\n').filter(Boolean);
    expect(leases).toEqual(['2', '1']);
  });

  it('lands nothing that conflicts or that is checked out elsewhere, and counts only what is new', () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: a, prompt: a }\n`, 'a) echo a > README;;');
    expect(convoy(repository, 'start').status).toBe(0);
    const elsewhere = join(repository.folder, '..', 'elsewhere');
    repository.git('worktree', 'add', '--quiet', '-b', 'other', elsewhere);
    const checkedOut = runOrch(repository, [
      'convoy',
      'land',
      'plan.yaml',
      '--into',
      'other',
      '-y',
      '--json',
    ]);
    expect(errorOf(checkedOut).message).toContain('is checked out in');
    repository.write('README', 'mine\n');
    repository.write('new.txt', '1\n2\n3\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'mine');
    const before = repository.git('rev-parse', 'HEAD');
    const conflict = runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y', '--json']);
    expect(errorOf(conflict)).toMatchObject({ code: 'GIT_FAILED' });
    expect(errorOf(conflict).message).toContain('README');
    expect(repository.git('rev-parse', 'HEAD')).toBe(before);
    expect(repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
    const shown = runOrch(repository, ['convoy', 'land', 'plan.yaml', '--dry-run']);
    expect(shown.status).toBe(conflict.status);
    expect(shown.stdout).toBe('');
    expect(shown.stderr).toContain('1 file +1 −1, merge');
    expect(shown.stderr).toContain('it conflicts with main, in README');
  });

  it("C1: leaves a branch alone that the user has checked out, even if it is the convoy's", () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n`,
      '*) echo x > $ORCH_TASK.txt;;',
    );
    repository.git('switch', '--quiet', '--create', 'orch/auth/a');
    const before = repository.git('rev-parse', 'HEAD');
    const ran = convoy(repository, 'start');
    expect(statusesOf(ran.document)).toEqual({ a: 'held', b: 'done' });
    expect(reasonOf(ran, 'a')).toContain('orch/auth/a is checked out in');
    expect(repository.git('rev-parse', 'HEAD')).toBe(before);
    repository.git('switch', '--quiet', 'orch/auth/merged');
    const merged = convoy(repository, 'resume');
    expect(statusesOf(merged.document)).toEqual({ a: 'held', b: 'done' });
    expect(repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
    repository.git('switch', '--quiet', 'main');
    expect(statusesOf(convoy(repository, 'resume').document)).toEqual({ a: 'done', b: 'done' });
  });

  it('refuses to continue if the merged branch has lost what is done', () => {
    const repository = makeConvoyed(
      `${head}tasks:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n`,
      'a) echo a > a.txt;; b) [ -e "$RAN.go" ] && echo b > b.txt;;',
    );
    expect(statusesOf(convoy(repository, 'start').document)).toEqual({ a: 'done', b: 'failed' });
    const was = repository.git('rev-parse', 'orch/auth/merged');
    repository.git('branch', '--quiet', '--force', 'orch/auth/merged', 'main');
    repository.write('../ran.go', '');
    const refused = convoy(repository, 'resume');
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(`it was at ${was.slice(0, 10)}`);
    repository.git('branch', '--quiet', '--force', 'orch/auth/merged', was);
    expect(statusesOf(convoy(repository, 'resume').document)).toEqual({ a: 'done', b: 'done' });
  });

  it('a repository without a commit is refused before anything begins', () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: a, prompt: a }\n`, '*) :;;');
    repository.git('switch', '--quiet', '--orphan', 'empty');
    const ran = convoy(repository, 'start');
    expect(errorOf(ran).message).toContain('has no commit yet');
    expect(convoy(repository, 'show').status).not.toBe(0);
  });

  it('shows a task whose worker was paused as held', async () => {
    const repository = makeConvoyed(`${head}tasks:\n  - { id: a, prompt: a }\n`, 'a) sleep 60;;');
    const first = startOrch(repository, ['convoy', 'start', 'plan.yaml'], {
      env: ranEnvironment(repository),
    });
    await waitUntil(() => readAttempts(repository).length === 1);
    expect(runOrch(repository, ['pause', '-e', 'auth']).status).toBe(0);
    await waitUntil(() => first.exitCode !== null);
    const shown = convoy(repository, 'show');
    expect(shown.document.convoy.tasks).toMatchObject([{ status: 'held', reason: 'the convoy was paused' }]);
  });
});
