import { join } from 'node:path';
import type { Budget } from '../cost/budget.ts';
import { messageOf, OrchError } from '../errors.ts';
import { askGit, runGit } from '../git/run-git.ts';
import {
  countChanges,
  findCheckout,
  findMergeBase,
  isAncestor,
  mergeCommits,
  moveBranch,
  readBranch,
} from '../git/worktree/merge-commits.ts';
import { listOwnWorktrees, removeWorktree, worktreesFolder } from '../git/worktree/own-worktrees.ts';
import { commitForUser, refuseDuringOperation } from '../git/worktree/user-commit.ts';
import { parseOid } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import type { Plan } from '../plan/plan.ts';
import { findRun, isActive, type KnownRun } from '../plan/run/known-runs.ts';
import type { RunInfo } from '../plan/run/progress.ts';
import {
  type ConvoyHook,
  type RunFileOutcome,
  type RunFileRequest,
  runPlanFile,
} from '../plan/run/run-plan.ts';
import { readView } from '../record/view.ts';
import { resolveEpic } from '../record/which/which-epic.ts';
import { describeMoney } from '../session/epic-status.ts';
import type { TaskRecord } from '../state/runs.ts';
import { quoteForShell } from '../text.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { type Convoy, doPrompt } from './do-prompt.ts';
import { makeTurns, openMergeQueue } from './merge-queue.ts';
import { mergedBranch, mergedName, taskBranch, taskEpic, worktreeName } from './names.ts';
import { openMergedWorktree } from './task-worktree.ts';
import { isWorking, readWorker } from './worker.ts';
import { adoptAllowances } from './worker-money.ts';

export type ConvoyEvent = RunFileRequest['onEvent'] extends (event: infer E) => void ? E : never;

/** Runs a plan whose prompts are done by agents, each in a worktree of its own. */
export async function runConvoy(
  orch: Orch,
  request: Omit<RunFileRequest, 'convoy' | 'jobs'>,
): Promise<RunFileOutcome> {
  const { plan } = request;
  const reserved = plan.tasks.find(({ id }) => id === mergedName);
  if (reserved)
    throw new OrchError(
      'PLAN_INVALID',
      `a task of a convoy cannot be called ${mergedName}: that is its branch`,
      {
        hint: 'Give it another id, then run the same command again',
      },
    );
  const convoy: ConvoyHook = {
    findFolder: (epic) => join(worktreesFolder(orch.repository), worktreeName(epic, mergedName)),
    open: async ({ run, started: { target } }) => {
      const { epic } = target;
      if (Object.keys(run.recorded).length > 0) await checkMerged(orch, epic, run.recorded);
      await startMergedBranch(orch, epic, Object.keys(run.recorded).length === 0);
      const worktree = await openMergedWorktree(orch, epic);
      const gates = plan.convoy.merge?.gates ?? 'auto';
      const queue = await openMergeQueue(orch, { convoy: epic, worktree, gates });
      if (queue.redAtBase.length > 0)
        orch.report(`red before the convoy began, so held against no task: ${queue.redAtBase.join(', ')}`);
      const shared: Convoy = {
        ...{
          epic,
          worker: plan.convoy.worker ?? {},
          queue,
          makeInTurn: makeTurns(),
          active: new Map(),
          leases: new Map(),
        },
        finished: Object.values(run.recorded).flatMap(({ status, worker }) =>
          status === 'succeeded' && worker ? [worker.costMicros] : [],
        ),
      };
      await adoptAllowances(orch, shared, run);
      return {
        cwd: worktree.path,
        onMerged: (work) => queue.onMerged(work),
        doPrompt: (ports, progress, task) => doPrompt(orch, shared, ports, progress, task),
      };
    },
  };
  await readHead(orch);
  const outcome = await runPlanFile(orch, {
    ...request,
    jobs: plan.convoy.workers ?? defaultWorkers,
    convoy,
  });
  if (outcome.kind === 'ended' && outcome.result?.status === 'succeeded')
    await removeWorktrees(orch, outcome.run);
  return outcome;
}

/** Removes the worktrees that have nothing which is not merged. One that is in use stays. */
async function removeWorktrees(orch: Orch, { epicId, tasks }: RunInfo): Promise<void> {
  const done = tasks.flatMap(({ id, status }) => (status === 'succeeded' ? [id] : []));
  const names = new Set([mergedName, ...done].map((id) => worktreeName(epicId, id)));
  for (const own of listOwnWorktrees(orch, `${epicId}/`).filter(({ name }) => names.has(name))) {
    try {
      await removeWorktree(orch, own);
    } catch (error) {
      orch.report(`${own.path} could not be removed: ${messageOf(error)}`);
    }
  }
}

const defaultWorkers = 4;

/**
 * Begins the merged branch at the commit of the user's HEAD. One that exists continues; in a new run, from HEAD if that has
 * all of it by now.
 */
async function startMergedBranch(orch: Orch, epic: EpicId, isNewRun: boolean): Promise<void> {
  const branch = mergedBranch(epic);
  const known = await readBranch(orch.repository, branch);
  if (known !== null && !isNewRun) return;
  const head = await readHead(orch);
  if (known === null || (known !== head && (await isAncestor(orch.repository, known, head))))
    await moveBranch(orch.repository, branch, head, known, `convoy: begin ${epic}`);
}

/** The commit of the user's HEAD, where a convoy begins. */
async function readHead({ repository }: Orch): Promise<Oid> {
  const { status, stdout } = await askGit(repository, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  if (status === 0) return parseOid(stdout.trim());
  throw new OrchError('GIT_FAILED', 'this repository has no commit yet, and a convoy begins at one', {
    hint: 'Commit something first, then run the same command again',
  });
}

/** Refuses to continue if the merged branch was moved by hand and no longer has the work of tasks that are done. */
async function checkMerged(
  { repository }: Orch,
  epic: EpicId,
  recorded: { readonly [task: string]: TaskRecord },
): Promise<void> {
  const branch = mergedBranch(epic);
  const tip = await readBranch(repository, branch);
  const done = Object.entries(recorded).flatMap(([task, { status, worker }]) =>
    status === 'succeeded' && worker?.merged != null ? [{ task, commit: parseOid(worker.merged) }] : [],
  );
  let newest = done[0];
  for (const each of done)
    if (newest && (await isAncestor(repository, newest.commit, each.commit))) newest = each;
  for (const { task, commit } of done) {
    if (newest === undefined || (tip !== null && (await isAncestor(repository, commit, tip)))) continue;
    const was = newest.commit.slice(0, 10);
    throw new OrchError(
      'GIT_FAILED',
      `${branch} was moved or deleted, and the work of ${task}, which is done, is not on it; it was at ${was}`,
      { hint: `Bring it back: git branch --force ${branch} ${was}`, data: { branch, task, commit } },
    );
  }
}

/** The epic of a plan's convoy. */
export async function resolveConvoyEpic(orch: Orch, plan: Plan, given: string | undefined): Promise<EpicId> {
  return (await resolveEpic(orch, { given, name: plan.name, create: true })).epic;
}

export type Landing = {
  readonly from: string;
  readonly into: string;
  readonly commit: Oid;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  readonly isFastForward: boolean;
  /** Has the branch everything already? */
  readonly isLanded: boolean;
};

/** What merging a convoy's branch into the user's would do. */
export async function previewLanding(orch: Orch, convoy: EpicId, into: string | null): Promise<Landing> {
  const { repository } = orch;
  const from = mergedBranch(convoy);
  const commit = await readBranch(repository, from);
  if (commit === null)
    throw new OrchError('EPIC_NOT_FOUND', `there is no convoy ${convoy}: the branch ${from} does not exist`, {
      hint: 'Start it: orch convoy start PLAN',
    });
  const current = (await runGit(repository, ['rev-parse', '--abbrev-ref', 'HEAD'])).trim();
  const target = into ?? current;
  const tip = await readBranch(repository, target);
  if (tip === null)
    throw new OrchError(
      'USAGE',
      target === 'HEAD' ? 'no branch is checked out here' : `there is no branch ${target} to merge into`,
      {
        hint: 'Name the branch to merge into: --into main',
      },
    );
  return {
    ...{ from, into: target, commit },
    ...(await countChanges(repository, (await findMergeBase(repository, tip, commit)) ?? tip, commit)),
    isFastForward: await isAncestor(repository, tip, commit),
    isLanded: await isAncestor(repository, commit, tip),
  };
}

/**
 * Merges a convoy's branch into the user's: the only call of a convoy that touches it. The branch that is checked out is
 * merged only if nothing is uncommitted there.
 */
export async function landConvoy(orch: Orch, { from, into, isFastForward, commit }: Landing): Promise<Oid> {
  const { repository } = orch;
  const current = (await runGit(repository, ['rev-parse', '--abbrev-ref', 'HEAD'])).trim();
  if (into !== current) {
    if (!isFastForward)
      throw new OrchError(
        'GIT_FAILED',
        `${into} has commits that ${from} has not, so it is no fast-forward`,
        {
          hint: `Merge it yourself: git switch ${into} && git merge ${from}`,
          data: { from, into },
        },
      );
    const where = await findCheckout(repository, into);
    if (where !== null)
      throw new OrchError('GIT_FAILED', `${into} is checked out in ${where}, whose files would not follow`, {
        hint: `Nothing was changed. Land it there: git -C ${quoteForShell([where])} merge ${from}`,
        data: { from, into },
      });
    await moveBranch(repository, into, commit, await readBranch(repository, into), `convoy: land ${from}`);
    return commit;
  }
  const dirty = (await runGit(repository, ['status', '--porcelain', '--untracked-files=no'])).trim();
  if (dirty !== '')
    throw new OrchError('GIT_FAILED', `${into} is checked out here with uncommitted changes`, {
      hint: `Nothing was changed. Commit them first, or merge it yourself: git merge ${from}`,
      data: { from, into },
    });
  refuseDuringOperation(repository);
  const tip = parseOid((await runGit(repository, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim());
  const tried = await mergeCommits(repository, tip, commit);
  if (tried.kind === 'conflict')
    throw new OrchError('GIT_FAILED', `it conflicts with ${into}, in ${tried.files.join(', ')}`, {
      hint: `Nothing was changed. Merge it yourself and resolve the conflicts: git merge ${from}`,
      data: { from, into },
    });
  await commitForUser(
    repository,
    [['merge', '--no-edit', '-m', `Merge branch '${from}'`, commit]],
    'See what it left: git status. Take it back: git merge --abort',
  );
  return (await readBranch(repository, into)) ?? commit;
}

export type ConvoyTask = {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly status: 'waiting' | 'working' | 'checking' | 'merging' | 'held' | 'done' | 'failed' | 'skipped';
  readonly attempts: number;
  readonly agent: string | null;
  readonly model: string | null;
  readonly worktree: string | null;
  readonly branch: string;
  readonly epicId: EpicId;
  readonly costUsd: number;
  readonly reason: string | null;
  readonly commit: string | null;
};

export type ConvoyInfo = {
  readonly id: string;
  readonly name: string;
  readonly epicId: EpicId;
  readonly status: 'running' | 'paused' | 'succeeded' | 'failed' | 'interrupted';
  readonly merged: string | null;
  readonly budget: Budget;
  readonly startedAt: string;
  readonly tasks: readonly ConvoyTask[];
};

/** Describes the newest convoy of a plan. */
export async function showConvoy(orch: Orch, plan: Plan, epic: EpicId): Promise<ConvoyInfo> {
  const view = await readView(orch, epic);
  const run = await findRun(orch.git, view, plan.name);
  if (run === null)
    throw new OrchError('SESSION_NOT_FOUND', `there is no convoy of ${plan.name} on ${epic}`, {
      hint: 'Start one: orch convoy start PLAN',
      data: { plan: plan.name, epicId: epic },
    });
  const isRunning = isActive(orch, run);
  const idle = new Map<string, string>();
  if (!isRunning)
    for (const [id, record] of Object.entries(run.tasks)) {
      if (stateOf(record) !== 'working' || !record.worker) continue;
      const worker = await readWorker(orch, taskEpic(epic, id));
      if (!isWorking(worker)) idle.set(id, `its worker is ${worker.condition ?? 'not started'}`);
    }
  const worktrees = new Map(listOwnWorktrees(orch, `${epic}/`).map(({ name, path }) => [name, path]));
  return {
    id: run.id,
    name: plan.name,
    epicId: epic,
    status: isRunning ? 'running' : endedStatus(run),
    merged: await readBranch(orch.repository, mergedBranch(epic)),
    budget: describeMoney(view.state),
    startedAt: formatInstant(run.head.startedAt),
    tasks: plan.tasks.map((task): ConvoyTask => {
      const { id, number, name } = task;
      const known = lookUp(run.tasks, id);
      const worker = known?.worker;
      return {
        ...{ id, number, name, attempts: known?.attempts ?? 0 },
        status: idle.has(id) ? 'waiting' : stateOf(known),
        ...{ agent: worker?.agent ?? null, model: worker?.model ?? null },
        worktree: worktrees.get(worktreeName(epic, id)) ?? null,
        ...{ branch: taskBranch(epic, id), epicId: taskEpic(epic, id) },
        costUsd: toUsd(worker?.costMicros ?? 0),
        ...{ reason: idle.get(id) ?? known?.why ?? null, commit: worker?.merged ?? null },
      };
    }),
  };
}

function endedStatus({ head: { status } }: KnownRun): ConvoyInfo['status'] {
  if (status === 'running') return 'interrupted';
  if (status === 'resume_needed') return 'paused';
  return status === 'blocked' ? 'failed' : status;
}

/** The state of a task, from its record. */
function stateOf(record: TaskRecord | undefined): ConvoyTask['status'] {
  switch (record?.status) {
    case 'succeeded':
      return 'done';
    case 'failed':
      return 'failed';
    case 'skipped':
      return 'skipped';
    case 'running':
    case 'pending':
      return record.worker?.step ?? (record.status === 'running' ? 'working' : 'waiting');
    default:
      return 'waiting';
  }
}
