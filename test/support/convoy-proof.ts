import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readConvoy } from '../../src/convoy/find-convoy.ts';
import { taskEpic } from '../../src/convoy/names.ts';
import { spentIn } from '../../src/cost/money.ts';
import { parseEpicId } from '../../src/ids.ts';
import { type Orch, openOrch } from '../../src/orch.ts';
import { readRun } from '../../src/plan/run/known-runs.ts';
import { readView } from '../../src/record/view.ts';
import type { TaskRecord } from '../../src/state/runs.ts';
import { afterTest } from './cleanup.ts';
import { makeConvoyed, readAttempts } from './convoys.ts';
import type { TestRepository } from './repository.ts';
import { callOrch, writeConfig } from './supervised.ts';

/* What has to be so at every moment of a convoy, whatever was killed before. */

const epic = parseEpicId('auth');

/** What each worker begins with: it notes an agent beside it, and what it wrote once that is written. */
const prologue = `git_dir=$(git rev-parse --git-dir); rm -f "$git_dir/index.lock"
if [ -e "$RAN.pids" ]; then while read -r task pid; do
  [ "$task" = "$ORCH_TASK" ] && grep -qs '^State:[[:space:]]*[RSD]' /proc/$pid/status \\
    && tr '\\0' '\\n' < /proc/$pid/environ 2>/dev/null | grep -qx "ORCH_TASK=$task" \\
    && tr '\\0' '\\n' < /proc/$pid/environ 2>/dev/null | grep -qx "RAN=$RAN" && echo "$task $pid $$" >> "$RAN.overlap"
done < "$RAN.pids"; fi
echo "$ORCH_TASK $$" >> "$RAN.pids"
own=own/$ORCH_TASK-$ORCH_ATTEMPT-$$.txt
mkdir -p own && echo "$own" > "$own" && echo "$ORCH_TASK $own" >> "$RAN.wrote"
pay() { echo "$ORCH_TASK $1" >> "$RAN.trying"; ${callOrch('record cost $1 -q')} && echo "$ORCH_TASK $1" >> "$RAN.paid"; }`;

const work = `commits) git add -A; git commit -qm one; pay 0.01; echo two > two.txt; git add -A; git commit -qm two;;
leaves) echo left > left.txt; sleep 0.2;;
clash-a|clash-b)
  sed -i '/^<<<<<<<\\|^=======$\\|^>>>>>>>/d' README
  grep -qx $ORCH_TASK README || echo $ORCH_TASK >> README
  git add -A; git commit -qm "$ORCH_TASK"
  if [ $ORCH_ATTEMPT -gt 1 ]; then
    git merge -q orch/auth/merged || { sed -i '/^<<<<<<<\\|^=======$\\|^>>>>>>>/d' README; git add -A; git commit -qm resolved; }
  fi;;
red) if [ $ORCH_ATTEMPT = 1 ]; then echo no > bad.txt; else rm -f bad.txt; pay 0.02; echo mended > mended.txt; fi;;
last) cat two.txt mended.txt > last.txt || exit 1;;`;

const head = `name: auth
workers: 3
budget: 20
worker: { agent: sh ./agent.sh, attempts: 60, budget: 3 }
tasks:
`;

const tasks = {
  commits: '{ id: commits, prompt: commits twice }',
  leaves: '{ id: leaves, prompt: commits nothing }',
  'clash-a': '{ id: clash-a, prompt: one line }',
  'clash-b': '{ id: clash-b, prompt: another line }',
  red: '{ id: red, prompt: is red at first }',
  last: '{ id: last, prompt: needs others, needs: [commits, red] }',
  look: '{ id: look, run: cat last.txt left.txt, needs: [last, leaves] }',
};
type TaskName = keyof typeof tasks;
const allTasks = Object.keys(tasks) as TaskName[];

/** A convoy with workers of every kind: they commit or not, conflict, are red, cost money, and need each other. */
export function makeProofConvoy(only: readonly TaskName[] = allTasks): TestRepository {
  const plan = head + only.map((task) => `  - ${tasks[task]}\n`).join('');
  const repository = makeConvoyed(plan, `*) ${prologue}\ncase $ORCH_TASK in\n${work}\nesac\nexit 0;;`);
  repository.git('config', 'core.logAllRefUpdates', 'always');
  repository.write('.git/info/exclude', '/plan.yaml\n/.orchestration\n');
  writeConfig(
    repository,
    `gates: [{ name: sound, run: "test ! -e bad.txt && ! grep -q '^<<<<<<<' README" }]\n`,
  );
  // What is the user's: a stash, and something staged and something changed in their files.
  repository.write('README', 'hello\nstashed\n');
  repository.git('stash', '--quiet');
  repository.git('branch', 'mine');
  repository.write('staged.txt', 'staged\n');
  repository.git('add', 'staged.txt');
  repository.write('agent.sh.note', 'not tracked\n');
  return repository;
}

export type Proof = {
  /** Checks everything that has to be so now. */
  check(): Promise<void>;
  /** Checks what has to be so once every task is done. */
  checkDone(): Promise<void>;
};

/** Remembers how a repository is, to check again and again what a convoy may not break. */
export async function openProof(
  repository: TestRepository,
  only: readonly TaskName[] = allTasks,
): Promise<Proof> {
  const prompts = only.filter((task) => task !== 'look');
  const orch = await openOrch({ cwd: repository.folder, engine: 'native', trusted: true });
  afterTest(() => orch.close());
  const before = readOwn(repository);
  const base = repository.git('rev-parse', 'main');
  const leases = new Map<string, number>();
  const check = async () => {
    expect(readOwn(repository), "C1: what is the user's has changed").toEqual(before);
    const merged = listMerged(repository, base);
    const ids = merged.map(({ task }) => task);
    expect(new Set(ids).size, `C3: merged twice: ${ids}`).toBe(ids.length);
    checkTips(repository);
    for (const { task, commit, lease } of merged) {
      const files = repository.git('ls-tree', '-r', '--name-only', commit).split('\n');
      expect(files, `C3: ${task} was merged with a red gate`).not.toContain('bad.txt');
      expect(repository.git('show', `${commit}:README`), 'C5').not.toMatch(/^<<<<<<</m);
      expect(lease, `C4: ${task} was merged without a lease`).toBeGreaterThan(0);
    }
    const records = await readRecords(orch);
    for (const [task, { status, worker }] of Object.entries(records)) {
      if (worker === undefined) continue;
      expect(worker.lease, `C4: the lease of ${task}`).toBeGreaterThanOrEqual(leases.get(task) ?? 0);
      leases.set(task, worker.lease);
      if (status === 'succeeded') expect(merged.map(({ commit }) => commit)).toContain(worker.merged);
    }
    expect(read(repository, 'overlap'), 'C4: two agents on one task').toEqual([]);
    checkWritten(repository);
  };
  return {
    check,
    checkDone: async () => {
      await check();
      const merged = listMerged(repository, base);
      const records = await readRecords(orch);
      expect(merged.map(({ task }) => task).sort()).toEqual([...prompts].sort());
      for (const { task, commit, lease } of merged)
        expect(records[task], `what is recorded of ${task}`).toMatchObject({
          status: 'succeeded',
          worker: { merged: commit, lease },
        });
      checkAttempts(repository, prompts, records);
      checkContent(repository, prompts);
      await checkMoney(repository, prompts, orch);
      expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
    },
  };
}

/** Everything of the user's, with the bytes of their files. */
function readOwn({ git, folder }: TestRepository) {
  return {
    status: git('status', '--porcelain=v2', '--branch', '--untracked-files=all'),
    config: git('config', '--local', '--list'),
    refs: git('for-each-ref', 'refs/heads/main', 'refs/heads/mine', 'refs/tags', 'refs/stash'),
    others: git('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags')
      .split('\n')
      .filter((ref) => !ref.startsWith('refs/heads/orch/auth/')),
    stash: git('stash', 'list'),
    index: git('ls-files', '--stage'),
    files: readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]),
  };
}

type Merged = { readonly commit: string; readonly task: string; readonly lease: number };

/** The merges on the merged branch, the oldest first; none if it has not begun. */
function listMerged({ git, tryGit }: TestRepository, base: string): Merged[] {
  if (tryGit('rev-parse', '--verify', '--quiet', 'orch/auth/merged').status !== 0) return [];
  const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=)`;
  const format = `--format=%H %P|${trailer('Orch-Task')}|${trailer('Orch-Lease')}`;
  const log = git('log', '--first-parent', '--reverse', format, `${base}..orch/auth/merged`);
  return log
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [hashes = '', task = '', lease = ''] = line.split('|');
      const [commit = '', ...parents] = hashes.split(' ');
      expect(parents, `C5: ${commit} is no merge of two`).toHaveLength(2);
      return { commit, task, lease: Number(lease) };
    });
}

/** Each place where the merged branch was is before the next one. */
function checkTips({ git, tryGit, folder }: TestRepository): void {
  const path = join(folder, '.git', 'logs', 'refs', 'heads', 'orch', 'auth', 'merged');
  if (!existsSync(path)) return;
  const tips = readFileSync(path, 'utf8').trim().split('\n');
  for (const line of tips) {
    const [from = '', to = ''] = line.split(' ');
    if (/^0+$/.test(from)) continue;
    expect(tryGit('merge-base', '--is-ancestor', from, to).status, `C5: moved back: ${line}`).toBe(0);
  }
  expect(tips.at(-1)?.split(' ')[1]).toBe(git('rev-parse', 'orch/auth/merged'));
}

/** C2: what a worker has written is in its worktree, or in an object that a ref holds. */
function checkWritten(repository: TestRepository): void {
  const worktrees = join(repository.home, 'repository.orch', 'auth');
  const missing = read(repository, 'wrote').flatMap((line) => {
    const [task = '', path = ''] = line.split(' ');
    const file = join(worktrees, task, path);
    const isThere = existsSync(file) && readFileSync(file, 'utf8') === `${path}\n`;
    return isThere ? [] : [path];
  });
  if (missing.length === 0) return;
  const held = repository.git('rev-list', '--glob=refs/*', '--objects');
  const lost = missing.filter((path) => {
    const [blob] = held.split('\n').filter((line) => line.endsWith(` ${path}`));
    return blob === undefined || repository.git('cat-file', 'blob', blob.split(' ')[0] ?? '') !== path;
  });
  expect(lost, 'C2: what a worker wrote is in no worktree and in no object that a ref holds').toEqual([]);
}

/** Everything that workers wrote is on the merged branch, and no line of either side was dropped. */
function checkContent(repository: TestRepository, prompts: readonly TaskName[]): void {
  const show = (path: string) => repository.git('show', `orch/auth/merged:${path}`);
  const written = new Set(read(repository, 'wrote').map((line) => line.split(' ')[1] ?? ''));
  for (const path of written) expect(show(path)).toBe(path);
  const lines = prompts.filter((task) => task.startsWith('clash'));
  expect(show('README').split('\n').sort()).toEqual([...lines, 'hello'].sort());
  if (prompts.includes('commits')) expect(show('two.txt')).toBe('two');
  if (prompts.includes('leaves')) expect(show('left.txt')).toBe('left');
  if (prompts.includes('last')) expect(show('last.txt')).toBe('two\nmended');
}

/** Every attempt that counts was made by an agent. */
function checkAttempts(
  repository: TestRepository,
  prompts: readonly TaskName[],
  records: { readonly [task: string]: TaskRecord },
): void {
  const made = readAttempts(repository);
  for (const task of prompts)
    for (let attempt = 1; attempt <= (records[task]?.attempts ?? 0); attempt++)
      expect(made, `an attempt that no agent made`).toContain(`${task} ${attempt}`);
}

/** C6: what is spent is the sum over all sessions: everything acknowledged, and nothing that was not recorded. */
async function checkMoney(
  repository: TestRepository,
  prompts: readonly TaskName[],
  orch: Orch,
): Promise<void> {
  const micros = (name: string) =>
    read(repository, name).reduce((sum, line) => sum + Math.round(Number(line.split(' ')[1]) * 1e6), 0);
  let sum = 0;
  for (const task of prompts) sum += spentIn((await readView(orch, taskEpic(epic, task))).state.ledger);
  expect(sum, 'C6: a cost that was acknowledged is lost').toBeGreaterThanOrEqual(micros('paid'));
  expect(sum, 'C6: a cost was counted twice').toBeLessThanOrEqual(micros('trying'));
  expect(spentIn((await readView(orch, epic)).state.ledger), 'C6: what the convoy has spent').toBe(sum);
}

async function readRecords(orch: Orch): Promise<{ readonly [task: string]: TaskRecord }> {
  const convoy = await readConvoy(orch, epic);
  return convoy === null ? {} : (await readRun(orch.git, convoy.view, convoy.run)).tasks;
}

/** The lines of a file that workers write beside the repository. */
function read({ home }: TestRepository, name: string): string[] {
  const path = join(home, `ran.${name}`);
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}

/** The processes of a convoy that can be killed. */
export type Victim = 'scheduler' | 'supervisor' | 'agent';

/** Finds processes of a convoy: those of this repository only. */
export function findVictims(repository: TestRepository, victim: Victim): number[] {
  if (victim === 'agent')
    return read(repository, 'pids')
      .map((line) => Number(line.split(' ')[1]))
      .filter((pid) => isOurs(repository, pid));
  const live = join(repository.folder, '.git', 'orchestration', 'live');
  if (!existsSync(live)) return [];
  return readdirSync(live).flatMap((name) => {
    try {
      const { epic: own, holder } = JSON.parse(readFileSync(join(live, name), 'utf8'));
      const isScheduler = own === 'auth';
      return isScheduler === (victim === 'scheduler') && isOurs(repository, holder.pid) ? [holder.pid] : [];
    } catch {
      return []; // it was just removed, or is a request
    }
  });
}

/** A number may have gone to a process of someone else's by now. */
function isOurs({ home }: TestRepository, pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .includes(`RAN=${join(home, 'ran')}`);
  } catch {
    return false;
  }
}

export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
