import { makeSessionId } from '../../record/begin.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { type Started, type StartRequest, startSession } from '../../session/lifecycle.ts';
import { listMarkedProcesses } from '../../session/session-processes.ts';
import type { WriterId } from '../../types.ts';
import { rememberPlanned } from '../effects/payload.ts';
import { listOpenEffects } from '../effects/plan-effects.ts';
import { chooseRun, type RunChoice, type StartIntent } from './choose-run.ts';
import { findNamesake, findRun, isActive, type KnownRun } from './known-runs.ts';
import { type PlanToRun, type PreparedRun, prepareRun } from './prepare-run.ts';

type PreviewRequest = PlanToRun & {
  readonly intent: StartIntent;
  readonly session: Pick<StartRequest, 'epic' | 'takeOver'>;
};

export type RunRequest = PreviewRequest & {
  readonly session: Omit<StartRequest, 'agent' | 'command' | 'facts' | 'findFacts' | 'resume' | 'session'>;
};

export type StartedRun = Omit<PreparedRun, 'facts'> & {
  readonly kind: 'started';
  readonly started: Started;
  /** Processes of tasks that a crash left running; they were stopped. */
  readonly leftovers: readonly { readonly task: string; readonly pids: readonly number[] }[];
};

/** The environment entry by which all processes of a task's command are found (Linux). */
export function taskMarker(run: string, task: string): string {
  return `ORCH_TASK_ID=${run}/${task}`;
}

/**
 * Starts or resumes a run as a session of its own. The final choice between the two is made once the epic is claimed:
 * until then, another process may still be working on the run.
 */
export async function startRun(
  ports: SessionPorts,
  request: RunRequest,
): Promise<StartedRun | { readonly kind: 'finished'; readonly run: KnownRun }> {
  const { plan } = request;
  const writer = await ports.identifyWriter();
  const view = await readView(ports, request.session.epic);
  const last = await findRun(ports.git, view, plan.name);
  // Claiming the epic reports an active run, which matters more than any refusal of ours.
  const early = isActive(ports, last) ? null : chooseFor(ports, request, writer, last);
  if (early?.kind === 'finished') return early;
  const leftovers = early && last ? listLeftovers(last) : [];
  const session = makeSessionId(ports);
  let prepared: PreparedRun | undefined;
  const started = await startSession(ports, {
    ...request.session,
    session,
    agent: 'orch run',
    command: ['orch', 'run', plan.name],
    resume: early?.kind === 'resume' ? { checkpoint: null } : null,
    findFacts: async (now) => {
      const newest = await findRun(ports.git, now, plan.name);
      const choice = chooseFor(ports, request, writer, newest);
      prepared = prepareRun(ports, request, choice, { session, writer, last: newest });
      return prepared.facts;
    },
  });
  if (prepared === undefined) throw new Error('the session started without its first facts');
  const { run, carried, changes } = prepared;
  const contents = run.effects.flatMap(({ record: { content } }) => content ?? []);
  await rememberPlanned(ports, run.id, contents);
  // Planned effects are in git before the first is tried, even if the policy wants no start checkpoint.
  if (started.stored === null && listOpenEffects(run.effects).length > 0)
    await record(ports, started.target, [], { trigger: 'session_start', reason: null });
  return { kind: 'started', started, run, carried, changes, leftovers };
}

/** Prepares a run without starting it; null if nothing is left to do. */
export async function previewRun(ports: SessionPorts, request: PreviewRequest): Promise<PreparedRun | null> {
  const view = await readView(ports, request.session.epic);
  const writer = await ports.identifyWriter();
  const last = await findRun(ports.git, view, request.plan.name);
  const choice = chooseFor(ports, request, writer, last);
  if (choice.kind === 'finished') return null;
  return prepareRun(ports, request, choice, { session: makeSessionId(ports), writer, last });
}

function chooseFor(
  { clock }: SessionPorts,
  request: PreviewRequest,
  writer: WriterId,
  last: KnownRun | null,
): RunChoice {
  const { plan, intent, session } = request;
  const { epic, takeOver } = session;
  const namesake = findNamesake(request, last);
  return chooseRun(plan, last, intent, { epic, writer, takeOver, now: clock.now(), namesake });
}

function listLeftovers(run: KnownRun): StartedRun['leftovers'] {
  return Object.entries(run.tasks)
    .filter(([, { status }]) => status === 'running')
    .map(([task]) => ({ task, pids: listMarkedProcesses(taskMarker(run.id, task)) }))
    .filter(({ pids }) => pids.length > 0);
}
