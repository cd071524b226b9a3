import { join } from 'node:path';
import { readInnerPath } from '../ids.ts';
import { type EpicView, readView } from '../session/context.ts';
import { makeSessionId } from '../session/here.ts';
import { listMarked } from '../session/leftovers.ts';
import { type Started, type StartRequest, startSession } from '../session/lifecycle.ts';
import { checkLive, readLive } from '../session/live.ts';
import { record, type SessionPorts } from '../session/record.ts';
import { statIfThere } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import type { WriterId } from '../types.ts';
import { type Beginning, type BegunRun, planBeginning } from './beginning.ts';
import type { Carry } from './carry.ts';
import { type Choice, chooseRun, type Wish } from './choice.ts';
import { missingEffects } from './effects.ts';
import { rememberPlanned } from './payload.ts';
import type { EffectChoice } from './replan.ts';
import { findRun, type KnownRun } from './runs.ts';
import { refuseTooLarge } from './size.ts';
import type { Plan } from './types.ts';

export type RunRequest = {
  readonly plan: Plan;
  /** Where the plan is, from the top of the working tree; null where it is in no file. */
  readonly file: string | null;
  readonly wish: Wish;
  /** Where tasks run: the top of the working tree. */
  readonly worktree: string;
  readonly env: Environment;
  /** What the user says of effects that are not acknowledged, by their ids. */
  readonly choices: ReadonlyMap<string, EffectChoice>;
  readonly session: Omit<StartRequest, 'agent' | 'command' | 'facts' | 'findFacts' | 'resume' | 'session'>;
};

export type Begun = {
  readonly kind: 'begun';
  readonly started: Started;
  readonly run: BegunRun;
  /** What of an earlier run does not count, where it goes on from one. */
  readonly carry: Carry | null;
  /** What else is different, in sentences for people. */
  readonly changes: readonly string[];
  /** What a crash had left running of tasks; it was ended. */
  readonly leftovers: readonly { readonly task: string; readonly pids: readonly number[] }[];
};

/** The entry in the environment of a task's command by which all that came from it is found (Linux). */
export function taskMarker(run: string, task: string): string {
  return `ORCH_TASK_ID=${run}/${task}`;
}

/**
 * Begins a run, or goes on with one, as a session of its own. What it is to do is decided once the epic is claimed:
 * before that, another may still be at it.
 */
export async function beginRun(
  ports: SessionPorts,
  request: RunRequest,
): Promise<Begun | { readonly kind: 'nothing'; readonly run: KnownRun }> {
  const { plan } = request;
  const { epic } = request.session;
  refuseTooLarge(plan);
  const writer = await ports.identifyWriter();
  const choose = ({ state }: EpicView) => chooseFor(ports, request, writer, state);
  const view = await readView(ports, epic);
  const last = findRun(view.state, plan.name);
  const early = isAtWork(ports, last) ? null : choose(view);
  if (early?.kind === 'nothing') return early;
  const leftovers = early && last ? listLeftovers(last) : [];
  const session = makeSessionId(ports);
  const begin: { beginning?: Beginning } = {};
  const started = await startSession(ports, {
    ...request.session,
    session,
    agent: 'orch run',
    command: ['orch', 'run', plan.name],
    resume: early?.kind === 'again' ? { checkpoint: null } : null,
    findFacts: async (now) => {
      const newest = findRun(now.state, plan.name);
      const around = { session, writer, last: newest };
      begin.beginning = planBeginning(ports, request, choose(now), around);
      return begin.beginning.facts;
    },
  });
  if (begin.beginning === undefined) throw new Error('a session began, and nobody asked what it is for');
  const { run, carry, changes } = begin.beginning;
  const contents = run.effects.flatMap(({ record: { content } }) => content ?? []);
  await rememberPlanned(ports, run.id, contents, ports.random.id(8));
  // What is going to be done to the world can be seen in git before it is, also where no start checkpoint is wanted.
  if (started.stored === null && missingEffects(run.effects).length > 0)
    await record(ports, started.target, [], { trigger: 'session_start', reason: null });
  return { kind: 'begun', started, run, carry, changes, leftovers };
}

/** What a run would begin with, without beginning it; null where there is nothing left to do. */
export async function previewRun(
  ports: SessionPorts,
  request: Omit<RunRequest, 'session'> & {
    readonly session: Pick<RunRequest['session'], 'epic' | 'takeOver'>;
  },
): Promise<Beginning | null> {
  const { state } = await readView(ports, request.session.epic);
  const writer = await ports.identifyWriter();
  const choice = chooseFor(ports, request, writer, state);
  if (choice.kind === 'nothing') return null;
  const last = findRun(state, request.plan.name);
  return planBeginning(ports, request, choice, { session: makeSessionId(ports), writer, last });
}

function chooseFor(
  { clock }: SessionPorts,
  request: Parameters<typeof previewRun>[1],
  writer: WriterId,
  state: EpicView['state'],
): Choice {
  const { plan, wish, session } = request;
  const newest = findRun(state, plan.name);
  const namesake = findNamesake(request, newest);
  const { epic, takeOver } = session;
  return chooseRun(plan, newest, wish, { epic, writer, takeOver, now: clock.now(), namesake });
}

/** The file a run's plan is in, where that is there, and another than the one that is asked for. */
export function findNamesake(
  { file, worktree }: Pick<RunRequest, 'file' | 'worktree'>,
  run: KnownRun | null,
): string | null {
  const other = readInnerPath(run?.head.file);
  if (file === null || other === null || other === file) return null;
  return statIfThere(join(worktree, other)) === null ? null : other;
}

/** Is somebody at work on it, as far as can be told? The claim names them, which comes before all else. */
export function isAtWork({ home }: Pick<SessionPorts, 'home'>, run: KnownRun | null): boolean {
  const live = run && readLive(home, run.head.session);
  return live !== null && checkLive(live) !== 'dead';
}

function listLeftovers(run: KnownRun): Begun['leftovers'] {
  return Object.entries(run.tasks)
    .filter(([, { status }]) => status === 'running')
    .map(([task]) => ({ task, pids: listMarked(taskMarker(run.id, task)) }))
    .filter(({ pids }) => pids.length > 0);
}
