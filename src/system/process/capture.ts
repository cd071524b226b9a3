import { limitReached, messageOf, systemCode } from '../../errors.ts';
import type { Millis } from '../../types.ts';
import { realRandom } from '../clock.ts';
import { statIfThere } from '../disk.ts';
import { type ControlGroup, createControlGroup } from './control-group.ts';
import { type Guard, killOnExit, startGuard } from './guard.ts';
import { describeProcesses, type NamedProcess } from './process-table.ts';
import { type EndStep, endTree, killIfThere } from './process-tree.ts';
import { type ChildProcess, type Environment, startProcess } from './spawn.ts';

type RunRequest = {
  /** A shell line, or a program and its arguments, which run without a shell. */
  readonly command: string | readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** A unique entry (`NAME=value`) for its environment, by which processes it leaves behind are found. */
  readonly marker: string;
  readonly timeout: Millis;
  readonly signal?: AbortSignal;
  /** What it reads from its standard input; nothing by default. */
  readonly input?: string;
  /** Ends it soon after this process is killed; for callers that nothing else cleans up after. */
  readonly isGuarded?: true;
  readonly onOutput: (text: string, stream: 'stdout' | 'stderr') => void;
};

export type RunEnd =
  | { readonly how: 'exited'; readonly status: number }
  | { readonly how: 'signalled'; readonly signal: NodeJS.Signals }
  /** `left`: processes it started that could not be ended. */
  | { readonly how: 'timed_out'; readonly left: readonly NamedProcess[] }
  | { readonly how: 'aborted'; readonly left: readonly NamedProcess[] }
  /** `isMissing`: the program does not exist. */
  | { readonly how: 'not_started'; readonly reason: string; readonly isMissing: boolean };

/** The exit status by which a command asks to be tried again (EX_TEMPFAIL). */
export const temporaryFailure = 75;

const endSteps: readonly EndStep[] = [
  { signal: 'SIGTERM', grace: 2_000 },
  { signal: 'SIGKILL', grace: 2_000 },
];
/** How long a command has to end by itself if this process is killed. */
const guardGrace: Millis = 1_000;
/** How long a process that outlives the command may keep its output open. */
const outputGrace: Millis = 500;
/** A longer timer would fire at once. */
const longestTimer: Millis = 2 ** 31 - 1;

/**
 * Runs a command without a terminal until it ends, times out or is aborted.
 * A command that is cut short is ended together with everything it started; after a normal end, only processes that
 * keep its output open are ended.
 */
export async function run(request: RunRequest): Promise<RunEnd> {
  if (request.signal?.aborted) return { how: 'aborted', left: [] };
  const group = createControlGroup(realRandom.id(8));
  try {
    return await runIn(group, request);
  } finally {
    group?.close();
  }
}

async function runIn(group: ControlGroup | null, request: RunRequest): Promise<RunEnd> {
  let child: ChildProcess;
  let guard: Guard | null = null;
  try {
    guard = request.isGuarded ? startGuard(group, guardGrace) : null;
    child = group ? group.startIn(() => startCommand(request)) : startCommand(request);
  } catch (error) {
    guard?.dismiss();
    return { how: 'not_started', reason: messageOf(error), isMissing: false };
  }
  if (child.pid !== undefined) guard?.watch(isWindows ? child.pid : -child.pid); // its process group
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => request.onOutput(text, name));
  const exit = new Promise<RunEnd>((resolve) => {
    child.on('error', (error) => resolve({ how: 'not_started', ...explain(error, request) }));
    child.on('exit', (status, signal) =>
      resolve(signal === null ? { how: 'exited', status: status ?? 0 } : { how: 'signalled', signal }),
    );
  });
  const forget = killOnExit(() => {
    group?.kill();
    if (child.pid !== undefined && !isOver(child)) killIfThere(isWindows ? child.pid : -child.pid);
  });
  try {
    return await untilEnd(child, exit, group, request);
  } finally {
    forget();
    guard?.dismiss();
  }
}

/** Waits until the command ends or must be ended, and ends what is left. */
async function untilEnd(
  child: ChildProcess,
  exit: Promise<RunEnd>,
  group: ControlGroup | null,
  request: RunRequest,
): Promise<RunEnd> {
  const closed = new Promise<'closed'>((resolve) => child.on('close', () => resolve('closed')));
  const end = await first(exit, request.timeout, request.signal);
  if (end.how === 'not_started') return end;
  const isCut = 'left' in end;
  if (!isCut && (await first(closed, outputGrace)) === 'closed') return end;
  const left = await endAll(child, request.marker, group);
  await first(closed, outputGrace);
  // A process that still keeps the output open is out of reach: do not wait for it.
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
  return isCut ? { ...end, left } : end;
}

function startCommand({ command, cwd, env, marker, input }: RunRequest): ChildProcess {
  const [program = '', ...args] = typeof command === 'string' ? shellCommand(command) : command;
  if (program === '') throw new Error('there is no command to run');
  const [name = '', ...value] = marker.split('=');
  const child = startProcess(program, args, {
    cwd,
    env: { ...env, [name]: value.join('=') },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // Its own process group helps to find what it leaves behind; without a terminal, nothing can wait for input.
    detached: !isWindows,
    windowsVerbatimArguments: typeof command === 'string',
  });
  // A command may end without reading its input, and its exit status says what that means.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  return child;
}

const isWindows = process.platform === 'win32';

/** The program and arguments that run a shell line. */
export function shellCommand(line: string): [program: string, ...args: string[]] {
  return isWindows ? ['cmd', '/d', '/s', '/c', `"${line}"`] : ['sh', '-c', line];
}

/** The system reports a missing program and a missing folder alike. */
function explain(
  error: Error,
  { command, cwd }: RunRequest,
): { readonly reason: string; readonly isMissing: boolean } {
  const program = typeof command === 'string' ? 'the shell' : command[0];
  const because = (reason: string, isMissing = false) => ({ reason, isMissing });
  if (statIfThere(cwd)?.isDirectory() !== true) return because(`there is no folder ${cwd}`);
  if (systemCode(error) === 'ENOENT') return because(`${program}: not found`, true);
  if (systemCode(error) === 'EACCES') return because(`${program}: not executable`);
  return because(limitReached(String(program), error)?.message ?? error.message);
}

async function endAll(
  child: ChildProcess,
  marker: string,
  group: ControlGroup | null,
): Promise<NamedProcess[]> {
  if (child.pid === undefined) return [];
  const { left } = await endTree(child.pid, {
    marker,
    group,
    isOver: () => isOver(child),
    signals: endSteps,
  });
  return describeProcesses(left);
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

type Cut = Extract<RunEnd, { how: 'timed_out' | 'aborted' }>;

/** Resolves with whichever comes first, and leaves no timer or listener behind. */
function first<T>(promise: Promise<T>, timeout: Millis, signal?: AbortSignal): Promise<T | Cut> {
  return new Promise((resolve) => {
    const settle = (result: T | Cut): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      resolve(result);
    };
    const abort = () => settle({ how: 'aborted', left: [] });
    const timer = setTimeout(() => settle({ how: 'timed_out', left: [] }), Math.min(timeout, longestTimer));
    signal?.addEventListener('abort', abort);
    void promise.then(settle);
  });
}
