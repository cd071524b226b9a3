import { sleep } from '../system/clock.ts';
import type { Exit } from '../system/command.ts';
import { makeFolder, removeIfThere, writeAtomically } from '../system/files.ts';
import { type GuardedCommand, prepareCommand, type StopResult } from '../system/guarded-command.ts';
import { describeLeft } from '../system/process-table.ts';
import type { Environment } from '../system/spawn.ts';
import type { EndStep } from '../system/tree.ts';
import type { Millis } from '../types.ts';
import { readView } from './context.ts';
import { journalFolder } from './journal.ts';
import { type Ending, endSession } from './lifecycle.ts';
import { noteGroup, removeLive } from './live.ts';
import type { Sight } from './look.ts';
import { watchMoney } from './money-watch.ts';
import { collectNews, type News } from './news.ts';
import { type Outcome, record, type SessionPorts, type Target } from './record.ts';
import { describeFailure, leastPause, makeWatch, type Reason, type WatchOptions } from './watch.ts';

/** What a supervisor tells while it works. */
export type SupervisorEvent =
  | Sight
  | { readonly kind: 'stopping'; readonly why: Reason }
  /** The command's provider lets it do no more for now: it goes on then. */
  | { readonly kind: 'waiting'; readonly until: Millis };

export type End = {
  readonly why: Reason;
  /** What it took to end the command, and what is left of it; null where there was none. */
  readonly stopped: StopResult | null;
  /** How the command ended; null where there was none. */
  readonly exit: Exit | null;
  readonly outcome: Outcome;
};

export type SupervisedCommand = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** The entry of its environment by which what it leaves behind is found. */
  readonly marker: string;
  readonly onOutput: ((chunk: Buffer) => void) | null;
};

export type SuperviseOptions = Omit<WatchOptions, 'onEvent' | 'money'> & {
  readonly command: SupervisedCommand | null;
  /** A file that is there for the command as long as the session is. */
  readonly brief: { readonly path: string; readonly text: string } | null;
  /** Is the work done when the command ends well, rather than paused? */
  readonly completes: boolean;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** Runs beside the work, and is told when that ends. */
  readonly beside?: (signal: AbortSignal) => Promise<void>;
};

/** How long the last of what a command printed may take to come. */
const drainGrace: Millis = 2_000;

/**
 * Watches over a session until it ends: checkpoints by the clock, notices what other processes record, keeps to the
 * budget, passes signals on, and ends the command with all that came from it.
 */
export async function supervise(
  ports: SessionPorts,
  target: Target,
  options: SuperviseOptions,
): Promise<End> {
  const early = options.signals.caught();
  if (early) return endUnbegun(ports, target, options, { kind: 'signal', signal: early.signal });
  const news = collectNews(ports, options.signals);
  const over = new AbortController();
  let command: GuardedCommand | null = null;
  try {
    await prepare(ports, options);
    const money = await watchMoney(ports, target, options.onEvent);
    command = options.command && (await run(ports, target, options.command, news));
    const beside = options.beside?.(over.signal).catch((error) => {
      options.onEvent({ kind: 'fault', message: error instanceof Error ? error.message : String(error) });
    });
    const watch = makeWatch(ports, target, { ...options, money }, news);
    let why = await watch.untilOver();
    for (;;) {
      const again = command && (await watch.planAgain(why));
      if (!command || !options.command || !again) break;
      await stopCommand(command, options, target, why, news);
      command = null;
      news.onPause();
      options.onEvent({ kind: 'waiting', until: again.at });
      const interruption = await watch.untilTime(again.at);
      if (!interruption) command = await run(ports, target, { ...options.command, argv: again.argv }, news);
      why = interruption ?? (await watch.untilOver());
    }
    over.abort();
    const ended = command;
    command = null; // one that could not be stopped in order was killed
    const stopped = ended && (await stopCommand(ended, options, target, why, news));
    await beside;
    // One that could not be ended is not waited for.
    const exit =
      ended && (news.exit ?? (await Promise.race([ended.exited, sleep(drainGrace).then(() => null)])));
    // Who holds its output open after that is out of reach, and not waited for.
    await Promise.race([ended?.drained, sleep(drainGrace)]);
    why = await watch.lookLast(why);
    return { why, stopped, exit, outcome: await conclude(ports, target, why, options, stopped) };
  } catch (error) {
    // Whatever went wrong here, the command is not left to itself.
    if (command) await stopCommand(command, options, target, { kind: 'blind', problem: '' }, news);
    throw error;
  } finally {
    over.abort();
    news.close();
    if (options.brief) removeIfThere(ports.disk, options.brief.path);
  }
}

/** Somebody wanted it to end before there was anything to stop. */
async function endUnbegun(
  ports: SessionPorts,
  target: Target,
  options: SuperviseOptions,
  why: Reason,
): Promise<End> {
  return { why, stopped: null, exit: null, outcome: await conclude(ports, target, why, options, null) };
}

async function prepare(ports: SessionPorts, { brief }: SuperviseOptions): Promise<void> {
  await makeFolder(ports.disk, journalFolder(ports.home));
  if (brief) await writeAtomically(ports.disk, brief.path, Buffer.from(brief.text), ports.random.id(8));
}

async function run(
  { disk, home, random }: SessionPorts,
  { session, settings }: Target,
  supervised: SupervisedCommand,
  news: News,
): Promise<GuardedCommand> {
  const prepared = prepareCommand(settings.stopGrace);
  let command: GuardedCommand;
  try {
    await noteGroup(disk, home, random, session, prepared.group);
    command = await prepared.start(supervised.argv, supervised);
  } catch (error) {
    prepared.discard();
    throw error;
  }
  // We may hear late of a signal that came before the command was there: at first all are taken as ours.
  void sleep(leastPause).then(news.onBegin);
  void command.exited.then((exit) => news.onExit(exit));
  return command;
}

/** Ends the command and all that came from it. After its own end only what it left behind is ended. */
async function stopCommand(
  command: GuardedCommand,
  options: SuperviseOptions,
  { settings }: Target,
  why: Reason,
  news: News,
): Promise<StopResult> {
  if (news.exit === null) options.onEvent({ kind: 'stopping', why });
  const grace = settings.stopGrace;
  const first: EndStep = { signal: why.kind === 'signal' ? why.signal : 'SIGINT', grace };
  const rest: EndStep[] = [
    { signal: 'SIGTERM', grace },
    { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
  ];
  const wasOver = news.exit !== null;
  const result = await command.stop(wasOver ? rest : [first, ...rest]);
  return wasOver ? { ...result, by: null } : result;
}

/** The last facts of the session, and its last checkpoint. */
async function conclude(
  ports: SessionPorts,
  target: Target,
  why: Reason,
  { completes, command }: SuperviseOptions,
  stopped: StopResult | null,
): Promise<Outcome> {
  const left = describeLeft(stopped?.left ?? []);
  const end = (how: Ending, reason: string | null, isRoutine?: true) =>
    left === ''
      ? endSession(ports, target, how, reason, { isRoutine })
      : endSession(ports, target, how, `${reason ?? 'Stopped'}${left}`);
  switch (why.kind) {
    case 'signal':
      return end('pause', `Stopped by ${why.signal}`, true);
    case 'request':
      return end(why.request.want, why.request.reason);
    case 'blind':
      return end('fail', `orch could not look after it: ${why.problem}`);
    case 'taken_over': {
      // Its last word was spoken by another.
      const { state } = await readView(ports, target.epic);
      return { session: target.session, events: [], state, verdict: { warn: [], stop: null }, stored: null };
    }
    case 'budget': {
      // The session reads budget_exceeded already; what the command still did on its way out is kept too.
      const reason = `Work in flight when the budget was used up${left}`;
      const outcome = await record(ports, target, [], { trigger: 'budget', reason, onlyIfChanged: true });
      removeLive(ports.disk, ports.home, target.session);
      return outcome;
    }
    case 'exit': {
      const name = command?.argv[0] ?? 'the command';
      if (why.exit.status === 0) return end(completes ? 'complete' : 'pause', `${name} ended ok`, true);
      return end('fail', `${name} ${describeFailure(why)}`);
    }
  }
}
