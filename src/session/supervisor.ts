import { sleep } from '../system/clock.ts';
import { type Command, type Exit, startCommand } from '../system/command.ts';
import { makeFolder, removeIfThere, writeAtomically } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import { type EndStep, endTree } from '../system/tree.ts';
import type { Millis } from '../types.ts';
import { readView } from './context.ts';
import { journalFolder } from './journal.ts';
import { type Ending, endSession } from './lifecycle.ts';
import { removeLive } from './live.ts';
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
  /** The signal it took to end the command; null where it ended by itself. */
  readonly stoppedBy: NodeJS.Signals | null;
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
  try {
    await prepare(ports, options);
    const money = await watchMoney(ports, target, options.onEvent);
    let command = options.command && (await run(options.command, news));
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
      if (!interruption) command = await run({ ...options.command, argv: again.argv }, news);
      why = interruption ?? (await watch.untilOver());
    }
    over.abort();
    const stoppedBy = command && (await stopCommand(command, options, target, why, news));
    await beside;
    const exit = command && (await command.exited);
    // Who holds its output open after that is out of reach, and not waited for.
    await Promise.race([command?.drained, sleep(drainGrace)]);
    why = await watch.lookLast(why);
    return { why, stoppedBy, exit, outcome: await conclude(ports, target, why, options) };
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
  return { why, stoppedBy: null, exit: null, outcome: await conclude(ports, target, why, options) };
}

async function prepare(ports: SessionPorts, { brief }: SuperviseOptions): Promise<void> {
  await makeFolder(ports.disk, journalFolder(ports.home));
  if (brief) await writeAtomically(ports.disk, brief.path, Buffer.from(brief.text), ports.random.id(8));
}

async function run(supervised: SupervisedCommand, news: News): Promise<Command> {
  const command = await startCommand(supervised.argv, supervised);
  // We may hear late of a signal that came before the command was there: at first all are taken as ours.
  void sleep(leastPause).then(news.onBegin);
  void command.exited.then((exit) => news.onExit(exit));
  return command;
}

/** Ends the command and all that came from it. After its own end only what it left behind is ended. */
async function stopCommand(
  command: Command,
  options: SuperviseOptions,
  { settings }: Target,
  why: Reason,
  news: News,
): Promise<NodeJS.Signals | null> {
  if (news.exit === null) options.onEvent({ kind: 'stopping', why });
  const grace = settings.stopGrace;
  const first: EndStep = { signal: why.kind === 'signal' ? why.signal : 'SIGINT', grace };
  const rest: EndStep[] = [
    { signal: 'SIGTERM', grace },
    { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
  ];
  const wasOver = news.exit !== null;
  const { by } = await endTree(command.pid, {
    marker: options.command?.marker ?? '',
    signals: wasOver ? rest : [first, ...rest],
    isOver: () => news.exit !== null,
  });
  return wasOver ? null : by;
}

/** The last facts of the session, and its last checkpoint. */
async function conclude(
  ports: SessionPorts,
  target: Target,
  why: Reason,
  { completes, command }: SuperviseOptions,
): Promise<Outcome> {
  const end = (how: Ending, reason: string | null) => endSession(ports, target, how, reason);
  switch (why.kind) {
    case 'signal':
      return end('pause', `Stopped by ${why.signal}`);
    case 'request':
      return end(why.request.want, why.request.reason);
    case 'unpriced':
      return end('fail', `${why.models.join(', ')} has no price, so the budget cannot be kept`);
    case 'taken_over': {
      // Its last word was spoken by another.
      const { state } = await readView(ports, target.epic);
      return { session: target.session, events: [], state, verdict: { warn: [], stop: null }, stored: null };
    }
    case 'budget': {
      // The session reads budget_exceeded already; what the command still did on its way out is kept too.
      const reason = 'Work in flight when the budget was used up';
      const outcome = await record(ports, target, [], { trigger: 'budget', reason, onlyIfChanged: true });
      removeLive(ports.disk, ports.home, target.session);
      return outcome;
    }
    case 'exit': {
      const name = command?.argv[0] ?? 'the command';
      if (why.exit.status === 0) return end(completes ? 'complete' : 'pause', `${name} ended ok`);
      return end('fail', `${name} ${describeFailure(why)}`);
    }
  }
}
