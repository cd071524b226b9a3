import { messageOf, OrchError } from '../errors.ts';
import { askGit } from '../git/run-git.ts';
import { isAncestor, keepBranch, moveBranch, readBranch } from '../git/worktree/merge-commits.ts';
import { listOwnWorktrees, openWorktree, removeWorktree } from '../git/worktree/own-worktrees.ts';
import { parseOid } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { Plan } from '../plan/plan.ts';
import { listRuns } from '../plan/run/known-runs.ts';
import type { RunInfo } from '../plan/run/progress.ts';
import {
  type ConvoyHook,
  type RunFileOutcome,
  type RunFileRequest,
  runPlanFile,
} from '../plan/run/run-plan.ts';
import type { RunningSession } from '../record/ports.ts';
import { record } from '../record/record.ts';
import { readView } from '../record/view.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import type { TaskRecord } from '../state/runs.ts';
import type { EpicId, Oid } from '../types.ts';
import { makeTurns, openMergeQueue } from './merge/merge-queue.ts';
import { mergedBranch, mergedName, taskEpic, worktreeName } from './names.ts';
import { openNotices } from './notices.ts';
import { refuseWorkers } from './steer/refuse-workers.ts';
import { pauseWorkers } from './steer/steer-api.ts';
import { carryOutOrders, steer } from './steer/steering.ts';
import { listFreed, watchWorkers } from './work/collisions.ts';
import { doPrompt } from './work/do-prompt.ts';
import type { Convoy } from './work/job.ts';
import { adoptAllowances } from './worker/worker-money.ts';
import { refuseCopy } from './worktree/bring-files.ts';
import { removeFreeWorktrees, removeTaskWorktree } from './worktree/free-worktrees.ts';
import { findWorktreesFolder, locateWorktree, openMergedWorktree } from './worktree/task-worktree.ts';

export type ConvoyEvent = RunFileRequest['onEvent'] extends (event: infer E) => void ? E : never;

/** Runs a plan whose prompts are done by agents, each in a worktree of its own. */
export async function runConvoy(
  orch: Orch,
  request: Omit<RunFileRequest, 'convoy' | 'jobs'> & {
    /** The prompts to do, if not all of them. */
    readonly only?: ReadonlySet<string> | null;
  },
): Promise<RunFileOutcome> {
  const { plan } = request;
  checkConvoyPlan(plan);
  const folder = await findWorktreesFolder(orch);
  const convoy: ConvoyHook = {
    findFolder: (epic) => {
      // It would pay for a scheduler that pays for it.
      refuseWorkers(orch, epic, 'start or continue its own convoy');
      return locateWorktree(orch, folder, worktreeName(epic, mergedName));
    },
    open: async ({ run, started: { target } }, trace) => {
      const { epic } = target;
      const isNew = Object.keys(run.recorded).length === 0;
      if (!isNew) await checkMerged(orch, epic, run.recorded);
      const hasEarlierRun = listRuns((await readView(orch, epic)).state).length > 1;
      // Workers of an earlier run may still be at work in the worktrees.
      if (isNew && hasEarlierRun)
        await pauseWorkers(orch, listTaskEpics(epic, run.plan), 'its convoy begins anew');
      await startMergedBranch(orch, epic, isNew);
      await noteBegin(orch, target, run.id);
      const worktree = await openMergedWorktree(orch, epic);
      const { gates = 'auto', batch } = plan.convoy.merge ?? {};
      const isSpec = plan.convoy.spec !== undefined;
      const onGate = trace.hearGate;
      const queue = await openMergeQueue(orch, { convoy: epic, worktree, gates, batch, isSpec, onGate });
      if (queue.redAtBase.length > 0)
        orch.report(`red before the convoy began, so held against no task: ${queue.redAtBase.join(', ')}`);
      const shared: Convoy = {
        ...{
          epic,
          worker: plan.convoy.worker ?? {},
          review: plan.convoy.review ?? {},
          queue,
          trace,
          makeInTurn: makeTurns(),
          active: new Map(),
          jobs: new Map(),
          leases: new Map(),
          wishes: new Map(),
          unclaimed: new Set(),
          unpaid: new Set(),
          colliding: new Map(),
          hasEarlierRun,
          holdsCollisions: plan.convoy.collisions === 'hold',
          user: { state: null, inTurn: makeTurns() },
          only: request.only ?? null,
          tasks: new Map(run.plan.tasks.map((task) => [task.id, task])),
        },
        finished: Object.values(run.recorded).flatMap(({ status, worker }) =>
          status === 'succeeded' && worker ? [worker.costMicros] : [],
        ),
      };
      const found = await adoptAllowances(orch, shared, run);
      const budget = budgetOf((await readView(orch, epic)).state);
      request.onEvent({ kind: 'workers', isNew, base: await queue.tip(), budget, ...found });
      return {
        cwd: worktree.path,
        onMerged: (work) => queue.onMerged(work),
        doPrompt: (ports, progress, task) => doPrompt(orch, shared, ports, progress, task),
        steer: async (ports, progress, controls, over) => {
          const steered = { orch, convoy: shared, ports, progress, controls, path: request.path };
          await carryOutOrders(steered);
          const watched = { ...steered, worktree: openWorktree(worktree) };
          return { ended: Promise.all([steer(steered, over), watchWorkers(watched, over)]).then(() => {}) };
        },
        hasNext: (progress) => shared.unclaimed.size > 0 || listFreed(shared, progress).length > 0,
      };
    },
  };
  await readHead(orch);
  await refuseCopy(orch.repository, listCopies(plan));
  const notices = await openNotices(orch, request.onEvent);
  const jobs = plan.convoy.workers ?? defaultWorkers;
  const { onEvent } = notices;
  const outcome = await notices.end(runPlanFile(orch, { ...request, onEvent, jobs, convoy }));
  if (outcome.kind === 'ended' && outcome.result?.status === 'succeeded')
    await removeWorktrees(orch, outcome.run);
  if (outcome.kind === 'ended') await removeFreeWorktrees(orch, outcome.run.epicId);
  return outcome;
}

function listTaskEpics(convoy: EpicId, { tasks }: Plan): { readonly epicId: EpicId }[] {
  const prompts = tasks.filter((task) => task.convoy.prompt !== null);
  return prompts.map(({ id }) => ({ epicId: taskEpic(convoy, id) }));
}

function listCopies({ convoy, tasks }: Plan): string[] {
  const prompts = tasks.filter((task) => task.convoy.prompt !== null);
  const own = prompts.flatMap((task) => task.convoy.worker.copy ?? convoy.worker?.copy ?? []);
  return [...new Set(own)];
}

/** Refuses a plan that cannot be a convoy's. */
export function checkConvoyPlan({ tasks }: Plan): void {
  if (tasks.every(({ id }) => id !== mergedName)) return;
  throw new OrchError(
    'PLAN_INVALID',
    `a task of a convoy cannot be called ${mergedName}: that is its branch`,
    { hint: 'Give it another id, then run the same command again' },
  );
}

/** The ids of the prompts that have one of these labels. */
export function selectByLabel({ tasks }: Plan, labels: readonly string[]): ReadonlySet<string> {
  const prompts = tasks.filter(({ convoy }) => convoy.prompt !== null);
  const chosen = prompts.filter(({ convoy }) => convoy.labels.some((label) => labels.includes(label)));
  if (chosen.length > 0) return new Set(chosen.map(({ id }) => id));
  const known = [...new Set(prompts.flatMap(({ convoy }) => convoy.labels))];
  throw new OrchError('USAGE', `no task has the label ${labels.join(' or ')}`, {
    hint:
      known.length === 0
        ? 'No task of this plan has a label'
        : `Its labels: ${known.slice(0, 20).join(', ')}`,
    data: { labels: known },
  });
}

/** Removes the worktrees that have nothing which is not merged. One that is in use stays. */
async function removeWorktrees(orch: Orch, { epicId, tasks }: RunInfo): Promise<void> {
  const done = tasks.flatMap(({ id, status }) => (status === 'succeeded' ? [id] : []));
  const names = new Set([mergedName, ...done].map((id) => worktreeName(epicId, id)));
  for (const own of listOwnWorktrees(orch, `${epicId}/`).filter(({ name }) => names.has(name))) {
    try {
      if (own.name === worktreeName(epicId, mergedName)) await removeWorktree(orch, own);
      else {
        const why = await removeTaskWorktree(orch, own);
        if (why !== null) orch.report(`${own.path} stays: ${why}`);
      }
    } catch (error) {
      orch.report(`${own.path} could not be removed: ${messageOf(error)}`);
    }
  }
}

/** Records where a convoy begins, once for each run. */
async function noteBegin(orch: Orch, target: RunningSession, run: string): Promise<void> {
  const { state } = await readView(orch, target.epic);
  if (readCurrent(state, 'convoy')?.run === run) return;
  const base = await readBranch(orch.repository, mergedBranch(target.epic));
  await record(orch, target, [{ kind: 'current_set', key: 'convoy', value: { base, run } }]);
}

/** How many agents work at once if the plan does not say. */
export const defaultWorkers = 4;

/**
 * Begins the merged branch at the commit of the user's HEAD. A new run keeps what an earlier one has merged under another
 * name, if HEAD does not have it.
 */
async function startMergedBranch(orch: Orch, epic: EpicId, isNewRun: boolean): Promise<void> {
  const branch = mergedBranch(epic);
  const known = await readBranch(orch.repository, branch);
  if (known !== null && !isNewRun) return;
  const head = await readHead(orch);
  if (known === head) return;
  if (known !== null && !(await isAncestor(orch.repository, known, head)))
    orch.report(
      `${epic} begins anew; what was merged before is on ${await keepBranch(orch.repository, branch, known)}`,
    );
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
