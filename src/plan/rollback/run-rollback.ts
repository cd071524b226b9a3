import { OrchError } from '../../errors.ts';
import { makeSessionId } from '../../record/begin.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { readView } from '../../record/view.ts';
import { startSession } from '../../session/lifecycle.ts';
import type { SignalWatch } from '../../system/process/signals.ts';
import type { WriterId } from '../../types.ts';
import type { Plan } from '../plan.ts';
import { findRun, isActive, type KnownRun } from '../run/known-runs.ts';
import { makeHeadFact } from '../run/prepare-run.ts';
import { describeKnownRun, type RunEvent, type RunInfo, type RunResult } from '../run/progress.ts';
import { closeRun, superviseRun } from '../run/run-tasks.ts';
import type { RunRequest } from '../run/start-run.ts';
import { planRollback, type RollbackPlan } from './plan-rollback.ts';
import { describeRollback, judgeRollback, undoWork } from './undo-work.ts';

type RollbackRequest = Pick<RunRequest, 'plan' | 'file' | 'worktree' | 'env' | 'session'> & {
  /** The file of another plan with the same name, if the newest run belongs to that one. */
  readonly findNamesake: (run: KnownRun) => string | null;
  readonly signals: SignalWatch;
  readonly onEvent: (event: RunEvent) => void;
};

/** Undoes what succeeded in the newest run of a plan; continues a rollback that was stopped. */
export async function runRollback(
  ports: SessionPorts,
  request: RollbackRequest,
): Promise<{ readonly run: RunInfo; readonly result: RunResult | null }> {
  const { plan, worktree: cwd, env, signals, onEvent } = request;
  const { epic } = request.session;
  const session = makeSessionId(ports);
  const writer = await ports.identifyWriter();
  let chosen: KnownRun | null = null;
  const choose = async (isFinal: boolean) => {
    const run = await findRun(ports.git, await readView(ports, epic), plan.name);
    if (!isFinal && isActive(ports, run)) return null;
    return chooseRollback(request, run, writer);
  };
  const early = await choose(false);
  if (early && isNothingLeft(plan, early)) return { run: describeKnownRun(plan, epic, early), result: null };
  const started = await startSession(ports, {
    ...request.session,
    session,
    agent: 'orch run',
    command: ['orch', 'run', plan.name, '--rollback'],
    resume: null,
    findFacts: async () => {
      chosen = await choose(true);
      if (chosen === null) throw new Error('there is no run to undo');
      return [
        makeHeadFact(asActive(chosen, plan), session, {
          status: 'running',
          endedAt: null,
          rollback: 'running',
        }),
      ];
    },
  });
  const known = chosen as KnownRun | null; // assigned in the callback
  if (known === null) throw new Error('the session started without its first facts');
  const { target } = started;
  const run = asActive(known, plan);
  const work = await superviseRun(ports, target, { cwd, env, signals, onEvent }, (taskPorts) =>
    undoWork(taskPorts, target, run),
  );
  const { done: rollback, why } = work;
  const status = judgeRollback(rollback);
  const reason = `${plan.name}: ${describeRollback(rollback)}`;
  const fact = makeHeadFact(run, target.session, {
    status,
    endedAt: ports.clock.now(),
    rollback: rollback.problem === null ? 'done' : 'stopped',
  });
  const saved = await closeRun(ports, target, { why, status, reason, fact });
  const last = (await findRun(ports.git, await readView(ports, epic), plan.name)) ?? known;
  const { tasks, effects } = last;
  const result: RunResult = {
    ...{ status, why, reason, rollback, saved, plan },
    tasks: new Map(Object.entries(tasks)),
    effects: new Map(
      Object.entries(effects).map(([id, { at: _, ...each }]) => [
        id,
        { kind: 'effect', run: run.id, id, ...each },
      ]),
    ),
  };
  return { run: describeKnownRun(plan, epic, last, rollback), result };
}

function asActive({ id, head }: KnownRun, plan: Plan) {
  const { from, file = null, startedAt, shards = 0 } = head;
  return { id, plan: { ...plan, digest: head.digest }, from, file, startedAt, shards };
}

/** Whether everything that can be undone is. */
function isNothingLeft(plan: Plan, run: KnownRun): boolean {
  return run.head.rollback === 'done' && planRollback(plan, run).steps.length === 0;
}

type ChooseRequest = Pick<RollbackRequest, 'plan' | 'findNamesake'> & {
  readonly session: Pick<RunRequest['session'], 'epic' | 'takeOver'>;
};

/** Chooses the run to undo, the newest of its plan, or says why it cannot be undone. */
function chooseRollback(
  { plan, session, findNamesake }: ChooseRequest,
  run: KnownRun | null,
  writer: WriterId,
): KnownRun {
  const { name } = plan;
  const { epic, takeOver } = session;
  if (run === null)
    throw new OrchError('SESSION_NOT_FOUND', `there is no run of ${name} on ${epic} to undo`, {
      hint: 'Nothing was undone. To start one: the same command without --rollback',
      data: { plan: name, epicId: epic },
    });
  const other = findNamesake(run);
  if (other !== null)
    throw new OrchError(
      'USAGE',
      `the newest run of ${name} belongs to ${other}, another plan with the same name`,
      {
        hint: `Nothing was undone. To undo that run: orch run ${other} --rollback`,
        data: { plan: name, file: other },
      },
    );
  if (run.damaged.length > 0)
    throw new OrchError('INTEGRITY', `some records of ${run.id} cannot be read: ${run.damaged[0]}`, {
      hint: 'Nothing was undone. Get them back from a remote: orch doctor --fix',
      data: { plan: name, run: run.id, damaged: run.damaged },
    });
  if (run.writer !== writer && !takeOver)
    throw new OrchError(
      'SESSION_ACTIVE',
      `the run ${run.id} of ${name} on ${epic} belongs to another clone`,
      {
        hint: 'If it is no longer running there, add --take-over',
        data: { plan: name, run: run.id, epicId: epic, reason: 'elsewhere' },
      },
    );
  const { steps, kept } = planRollback(plan, run);
  if (steps.length === 0 && run.head.rollback === undefined)
    throw new OrchError('USAGE', `nothing that ${run.id} of ${name} did has an undo`, {
      hint: 'Give its tasks or effects an undo: in the plan, then run the same command again',
      data: { plan: name, run: run.id, kept },
    });
  return run;
}

/** What a rollback would do, without doing it. */
export async function previewRollback(
  ports: SessionPorts,
  request: ChooseRequest,
): Promise<RollbackPlan & { readonly run: KnownRun }> {
  const run = await findRun(ports.git, await readView(ports, request.session.epic), request.plan.name);
  const chosen = chooseRollback(request, run, await ports.identifyWriter());
  return { run: chosen, ...planRollback(request.plan, chosen) };
}
