import { resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import {
  acceptBudget,
  type Publication,
  previewSync,
  type Synced,
  type SyncOptions,
  sync,
} from '../index.ts';
import type { Orch } from '../orch.ts';
import { checkLive, listLive } from '../session/live.ts';
import { isFromInside } from '../session/origin.ts';
import { statIfThere } from '../system/files.ts';
import { catchSignals, type SignalWatch, statusOfSignal } from '../system/signals.ts';
import { count, parseDuration } from '../units.ts';
import { askYesNo, canAsk } from './ask.ts';
import { epicOption } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { makeShowable, writeTo } from './output.ts';
import { type Context, runCommands } from './run.ts';
import { type Call, type CommandSpec, textOf } from './spec.ts';
import { budgetCommand, describeRaised, showPreview, showSynced, sumUp } from './sync-view.ts';

export const syncSpec: CommandSpec = {
  name: 'sync',
  summary: 'share epics between machines',
  description:
    'Share epics with other clones through a git remote: fetches what is new there, joins it with what is here, sends the rest. Nothing is forced, and your branches stay as they are. The first sync to an address says what it would publish, and asks.',
  argument: { name: 'remote', description: 'a remote, a URL or a path; origin, or what the config says' },
  options: [
    epicOption('this epic only'),
    { flags: '-y, --yes', description: 'publish without asking' },
    { flags: '--dry-run', description: 'list what would be published and fetched; change nothing' },
    { flags: '--no-snapshots', description: 'checkpoints only: no copies of your files go along' },
    { flags: '--timeout <duration>', description: 'how long each exchange may take', initial: '2m' },
  ],
  examples: ['orch sync', 'orch sync --dry-run', 'orch sync backup --epic feat-login --no-snapshots'],
  run: async (context, call) => {
    const signals = catchSignals();
    try {
      return await context.withOrch((orch) => runSync(context, orch, call, signals));
    } catch (error) {
      const caught = signals.caught();
      if (caught === null) throw error;
      context.out.tell('interrupted; nothing is lost');
      return statusOfSignal(caught.signal);
    } finally {
      signals.release();
    }
  },
};

async function runSync(context: Context, orch: Orch, call: Call, signals: SignalWatch): Promise<number> {
  const { out, json } = context;
  const remote = readRemote(context, call);
  await settleConfig(context, orch);
  const options = { ...readOptions(context, call), signal: signals.aborted };
  if (call.options['dry-run']) {
    const preview = await previewSync(remote, orch, options).finally(clearProgress(context));
    out.print(json ? JSON.stringify({ ...preview, dryRun: true }) : showPreview(out, preview));
    return 0;
  }
  let declined = false;
  const mayPublish = async (publication: Publication, name: string) => {
    if (call.options.yes) return true;
    clearProgress(context)();
    if (json || !canAsk()) throw needsYes(name, publication);
    out.tell(`First sync to ${name}. Will publish: ${sumUp(publication, name)}; --dry-run lists all of it.`);
    declined = !(await askYesNo('Go on?', signals.aborted));
    return !declined;
  };
  let synced: Synced;
  try {
    synced = await sync(remote, orch, { ...options, mayPublish }).finally(clearProgress(context));
  } catch (error) {
    if (!declined) throw error;
    out.tell('Nothing was published, and your epics are as they were.');
    return 1;
  }
  for (const raised of synced.raised) await settleBudget(context, orch, raised, signals);
  return showResult(context, synced);
}

/** A budget that another clone raised counts here after a yes, and never by an agent's word. */
async function settleBudget(
  { out, json, settings }: Context,
  orch: Orch,
  raised: Synced['raised'][number],
  signals: SignalWatch,
): Promise<void> {
  if (json) return;
  out.tell(describeRaised(raised));
  // A supervisor takes a higher limit only from the command that asks it for one.
  const isSupervised = listLive(orch.home).some(
    (live) => live.epic === raised.epicId && checkLive(live) !== 'dead',
  );
  const mayAsk = canAsk() && !settings.byAgent && !isSupervised && !isFromInside(orch.home);
  if (mayAsk && (await askYesNo('Apply it here?', signals.aborted))) await acceptBudget(raised.epicId, orch);
  else out.tell(`To apply it: ${budgetCommand(raised)}`);
}

/** A path is meant from where it was typed. */
function readRemote({ cwd }: Context, { argument }: Call): string | null {
  if (argument === undefined) return null;
  const isPath = /[/\\]/.test(argument) && statIfThere(resolve(cwd, argument))?.isDirectory() === true;
  return isPath ? resolve(cwd, argument) : argument;
}

function readOptions(context: Context, call: Call): SyncOptions {
  const epicId = textOf(call, 'epic');
  const given = textOf(call, 'timeout') ?? '';
  const timeout = parseDuration(given);
  if (timeout === null || timeout <= 0)
    throw new OrchError('USAGE', `--timeout ${given} is not a duration`, { hint: 'Try --timeout 5m' });
  return {
    timeout,
    ...(epicId !== undefined && { epicId }),
    ...(call.options['no-snapshots'] && { snapshots: false }),
    ...(showsProgress(context) && {
      onProgress: (text: string) => writeTo(2, `\r\u001b[K${makeShowable(text)}`),
    }),
  };
}

function showsProgress({ out, json }: Context): boolean {
  return !json && !out.isQuiet && process.stderr.isTTY === true;
}

function clearProgress(context: Context): () => void {
  return () => {
    if (showsProgress(context)) writeTo(2, '\r\u001b[K');
  };
}

function showResult({ out, json }: Context, synced: Synced): number {
  const [first, ...others] = synced.errors;
  const text = json ? JSON.stringify(synced) : showSynced(out, synced);
  if (text !== '' && !(json && first)) out.print(text);
  for (const { from, to } of json ? [] : synced.renamed)
    out.tell(`${from} is called ${to} now: another clone renamed it`);
  for (const { ref, reason } of json ? [] : synced.skipped) out.tell(`skipped ${ref}: ${reason}`);
  for (const { epicId, events } of json ? [] : synced.pending)
    out.tell(
      out.paint('dim', `${epicId}: ${count(events, 'event')} not in a checkpoint yet, so not sent yet`),
    );
  if (first === undefined) return 0;
  for (const { message } of json ? [] : others) out.tell(`${out.paint('red', 'error:')} ${message}`);
  throw new OrchError(first.code, first.message, {
    ...(first.hint !== null && { hint: first.hint }),
    data: synced,
  });
}

function needsYes(remote: string, publication: Publication): OrchError {
  const { untracked, commits, ...rest } = publication;
  return new OrchError(
    'USAGE',
    `the first sync to ${remote} would publish ${sumUp(publication, remote)}; not a terminal, so orch cannot ask`,
    {
      hint: 'See all of it by adding --dry-run. If that is what you want, add -y instead.',
      data: { ...rest, untracked: untracked.length, commits: commits.length },
    },
  );
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [syncSpec]);
}
