import { messageOf } from '../errors.ts';
import { readRequest } from '../journal/live.ts';
import { journalFolder } from '../journal/read.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { clearWaiting, noteLimit } from '../session/agent/agent-waiting.ts';
import type { State } from '../state/lists.ts';
import { sleep } from '../system/clock.ts';
import { makeFolder } from '../system/disk.ts';
import type { Exit } from '../system/process/command.ts';
import type { SignalWatch } from '../system/process/signals.ts';
import type { Millis } from '../types.ts';
import type { Witness, WitnessVerdict } from '../witness/witness.ts';
import { decideFinalReason, decideStep, type Restart, type StopReason } from './decide.ts';
import type { Follower } from './follow-agent.ts';
import { type LookOptions, makeLook, type SessionEvent } from './look.ts';
import { trackMoney } from './tracked-money.ts';
import { openWaiter, shortestPause } from './wait.ts';

/** What a supervisor reports while it works. */
export type SupervisorEvent =
  | SessionEvent
  | { readonly kind: 'stopping'; readonly why: StopReason }
  /** The command's provider refuses more work for now; the command continues at that time. */
  | { readonly kind: 'waiting'; readonly until: Millis };

/** What is supervised: a command with everything it starts, or the tasks of a run. */
export type Work = {
  /** Starts it, or starts it again with another command line. */
  start(onExit: (exit: Exit) => void, argv: readonly string[] | null): Promise<void>;
  /** Ends it with everything it started; after its own exit, what it left behind. */
  stop(why: StopReason): Promise<void>;
  /** The process of a command that runs; null or missing where there is none. */
  readonly pid?: number | null;
};

export type ProviderLimits = {
  note(until: Millis): Promise<void>;
  /** Null if it may continue now, else when to ask again. */
  takeTurn(): Promise<Millis | null>;
};

export type SuperviseOptions = {
  readonly signals: SignalWatch;
  /** Does Ctrl+C reach the command by itself, because it has the terminal? */
  readonly hasTerminal: boolean;
  /** Reads what agents write about themselves. */
  readonly follower: Pick<Follower, 'readFacts' | 'findFailure' | 'planRestart' | 'recordRest'> | null;
  readonly readChanges: LookOptions['readChanges'];
  /** Looks after the agent; null where there is none. */
  readonly witness: Witness | null;
  /** What it shares with other agents of its provider about that one's limits. */
  readonly limits: ProviderLimits | null;
  /** Runs alongside the work; the signal aborts when that ends. */
  readonly alongside: ((signal: AbortSignal) => Promise<void>) | null;
  readonly onEvent: (event: SupervisorEvent) => void;
};

/**
 * Supervises a session's work until there is a reason to end it, ends it, and returns the reason. Without work it
 * supervises what other processes record in the session.
 */
export async function supervise(
  ports: SessionPorts,
  target: RunningSession,
  work: Work | null,
  options: SuperviseOptions,
): Promise<StopReason> {
  const { signals, follower, readChanges, witness } = options;
  let state: State | null = null;
  const onEvent = (event: SupervisorEvent) => {
    if (event.kind === 'look') ({ state } = event.view);
    options.onEvent(event);
  };
  const early = signals.caught();
  if (early) return { kind: 'signal', signal: early.signal }; // nothing has started yet
  await makeFolder(ports.disk, journalFolder(ports.home));
  const waiter = openWaiter(ports, signals);
  const over = new AbortController();
  const reportFault = (error: unknown) => onEvent({ kind: 'fault', message: messageOf(error) });
  const start = async (argv: readonly string[] | null) => {
    if (work === null) return;
    await work.start(waiter.onExit, argv);
    waiter.onStart();
  };
  /** Agents that wait for their provider have no process to look at. */
  const lookAfter = async ({ pid = null }: Work): Promise<WitnessVerdict | null> => {
    if (witness === null || state === null || pid === null) return null;
    return witness.look(state, pid).catch((error) => {
      reportFault(error);
      return null;
    });
  };
  try {
    const money = await trackMoney(ports, target, onEvent);
    const look = makeLook(ports, target, {
      readFacts: follower?.readFacts ?? null,
      readChanges,
      money,
      onEvent,
    });
    await start(null);
    const alongside = options.alongside?.(over.signal).catch(reportFault);
    let waitingFor: Restart | null = null;
    let why: StopReason | null = null;
    while (why === null) {
      const change = waiter.next();
      // Read before the look: that then includes everything the work wrote before it ended.
      const { exit } = waiter;
      const findings = await look();
      const step = decideStep({
        findings,
        exit,
        restart: exit && follower ? await follower.planRestart(exit) : null,
        caught: signals.caught(),
        startedAt: waiter.startedAt,
        request: readRequest(ports.home, target.session),
        verdict: work && exit === null ? await lookAfter(work) : null,
        waitingFor,
        now: ports.clock.now(),
        hasTerminal: options.hasTerminal,
        stopGrace: target.settings.stopGrace,
      });
      switch (step.kind) {
        case 'continue':
          await change;
          if (waiter.exit === null) await sleep(shortestPause);
          break;
        case 'wait':
          await work?.stop({ kind: 'exit', exit: exit ?? { status: null, signal: null } });
          waiter.forget();
          waitingFor = step.restart;
          onEvent({ kind: 'waiting', until: waitingFor.at });
          await noteLimit(ports, target.session, waitingFor.at);
          await options.limits?.note(waitingFor.at);
          break;
        case 'restart': {
          const later = await options.limits?.takeTurn();
          if (later) {
            waitingFor = { at: later, argv: step.argv };
            break;
          }
          clearWaiting(ports, target.session);
          waitingFor = null;
          await start(step.argv);
          break;
        }
        case 'stop':
          why = step.why;
      }
    }
    if (waitingFor) clearWaiting(ports, target.session);
    over.abort();
    await work?.stop(why);
    await alongside;
    if (why.kind === 'taken_over') return why;
    await follower?.recordRest().catch(reportFault);
    why = decideFinalReason(why, await look(true));
    const failure = why.kind === 'exit' ? follower?.findFailure(why.exit) : null;
    return why.kind === 'exit' && failure ? { ...why, failure } : why;
  } catch (error) {
    // Nothing may keep running unsupervised.
    await work?.stop({ kind: 'supervision_failed', problem: messageOf(error) });
    throw error;
  } finally {
    over.abort();
    waiter.close();
    witness?.close();
  }
}
