import { resolve } from 'node:path';
import { OrchError } from '../../../errors.ts';
import {
  acceptBudget,
  canAcceptBudget,
  type Orch,
  type Publication,
  previewSync,
  type RaisedBudget,
  type Synced,
  type SyncOptions,
  type SyncPreview,
  type SyncResult,
  sync,
} from '../../../index.ts';
import { statIfThere } from '../../../system/disk.ts';
import { catchSignals, type SignalWatch, statusOfSignal } from '../../../system/process/signals.ts';
import { count, parseDuration } from '../../../units.ts';
import { epicOption } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { askYesNo, canAsk } from '../../confirm.ts';
import { formatTable, makeShowable, type Output, writeTo } from '../../output.ts';
import { answer, type Context, defineCommand } from '../../run-command.ts';
import { type Call, type ExitStatus, readText } from '../../spec.ts';
import { formatAcceptCommand, showRaised } from '../../views/recorded-view.ts';

export const command = defineCommand({
  summary: 'share epics between machines',
  description:
    'Share epics with other clones through a git remote: fetch what is new, merge it, and push the rest. Nothing is force-pushed, and your branches do not change. The first sync to an address shows what it would publish, and asks.',
  argument: {
    name: 'remote',
    description: 'a remote, a URL or a path; by default the configured one, else origin',
  },
  options: [
    epicOption('this epic only'),
    { flags: '-y, --yes', description: 'publish without asking' },
    { flags: '--dry-run', description: 'list what would be published and fetched; change nothing' },
    { flags: '--no-snapshots', description: 'checkpoints only, without copies of your files' },
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
      context.out.inform('Interrupted; nothing is lost.');
      return statusOfSignal(caught.signal);
    } finally {
      signals.release();
    }
  },
});

async function runSync(context: Context, orch: Orch, call: Call, signals: SignalWatch): Promise<ExitStatus> {
  const { out, json } = context;
  const remote = readRemote(context, call);
  await approveConfig(context, orch);
  const options = { ...readOptions(context, call), signal: signals.aborted };
  if (call.options['dry-run']) {
    const preview = await previewSync(remote, orch, options).finally(clearProgress(context));
    return answer(context, { ...preview, dryRun: true }, () => showPreview(out, preview));
  }
  let declined = false;
  const mayPublish = async (publication: Publication, name: string) => {
    if (call.options.yes) return true;
    clearProgress(context)();
    if (json || !canAsk()) throw needsYes(name, publication);
    out.inform(
      `First sync to ${name}. Will publish: ${sumUp(publication, name)}; --dry-run lists all of it.`,
    );
    declined = !(await askYesNo('Continue?', signals.aborted));
    return !declined;
  };
  let synced: Synced;
  try {
    synced = await sync(remote, orch, { ...options, mayPublish }).finally(clearProgress(context));
  } catch (error) {
    if (!declined) throw error;
    out.inform('Nothing was published or changed.');
    return 1;
  }
  for (const raised of synced.raised) await offerRaisedBudget(context, orch, raised, signals);
  return showResult(context, synced);
}

/** Asks whether a budget that another clone raised applies here too. An agent may not answer. */
async function offerRaisedBudget(
  { out, json, settings }: Context,
  orch: Orch,
  raised: RaisedBudget,
  signals: SignalWatch,
): Promise<void> {
  if (json) return;
  out.inform(showRaised(raised));
  const mayAsk = canAsk() && !settings.byAgent && (await canAcceptBudget(raised.epicId, orch));
  if (mayAsk && (await askYesNo('Apply it here?', signals.aborted))) await acceptBudget(raised.epicId, orch);
  else out.inform(`To apply it: ${formatAcceptCommand(raised)}`);
}

/** Resolves a path against the folder it was typed in. */
function readRemote({ cwd }: Context, { argument }: Call): string | null {
  if (argument === undefined) return null;
  const isPath = /[/\\]/.test(argument) && statIfThere(resolve(cwd, argument))?.isDirectory() === true;
  return isPath ? resolve(cwd, argument) : argument;
}

function readOptions(context: Context, call: Call): SyncOptions {
  const epicId = readText(call, 'epic');
  const given = readText(call, 'timeout') ?? '';
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
    out.inform(`Another clone renamed ${from} to ${to}, so it is now ${to} here too.`);
  for (const { ref, reason } of json ? [] : synced.skipped) out.inform(`skipped ${ref}: ${reason}`);
  for (const { epicId, events } of json ? [] : synced.pending)
    out.inform(
      out.paint('dim', `${epicId}: ${count(events, 'event')} not in a checkpoint yet, so not sent yet`),
    );
  if (first === undefined) return 0;
  for (const { message } of json ? [] : others) out.inform(`${out.paint('red', 'error:')} ${message}`);
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
      hint: 'List all of it with --dry-run. If that is what you want, add -y.',
      data: { ...rest, untracked: untracked.length, commits: commits.length },
    },
  );
}

/** Sums up what others would see: `41 checkpoints, 12 snapshots (38 untracked files), 3 commits …`. */
function sumUp({ epics, snapshots, untracked, commits }: Publication, remote: string): string {
  const checkpoints = epics.reduce((sum, epic) => sum + epic.checkpoints, 0);
  const files = untracked.length > 0 ? ` (${count(untracked.length, 'untracked file')})` : '';
  return [
    ...(checkpoints > 0 ? [count(checkpoints, 'checkpoint')] : []),
    ...(snapshots > 0 ? [`${count(snapshots, 'snapshot')} of your files${files}`] : []),
    ...(commits.length > 0 ? [`${count(commits.length, 'commit')} not on ${remote} yet`] : []),
  ].join(', ');
}

/** Lists everything a first sync would publish and fetch. */
function showPreview(out: Output, preview: SyncPreview): string {
  const { remote, wouldPublish, wouldFetch, skipped } = preview;
  const { epics, snapshots, untracked, commits } = wouldPublish;
  const lines: string[] = [];
  for (const { epicId, checkpoints } of epics)
    lines.push(`publish  ${epicId}: ${count(checkpoints, 'checkpoint')}`);
  if (snapshots > 0) lines.push(`publish  ${count(snapshots, 'snapshot')} of your files`);
  for (const path of untracked) lines.push(`           untracked  ${JSON.stringify(path).slice(1, -1)}`);
  if (commits.length > 0) lines.push(`publish  ${count(commits.length, 'commit')} not on ${remote} yet`);
  for (const { commit, subject } of commits) lines.push(`           ${commit.slice(0, 9)}  ${subject}`);
  for (const epic of wouldFetch) lines.push(`fetch    ${epic}`);
  for (const { ref, reason } of skipped) lines.push(out.paint('dim', `skip     ${ref}: ${reason}`));
  return lines.length > 0 ? lines.join('\n') : `${remote}: already up to date`;
}

/** One line for each epic that was sent or fetched. */
function showSynced(out: Output, synced: Synced): string {
  const { remote, snapshots } = synced;
  const epics = [
    ...new Set([...synced.fetched, ...synced.merged, ...synced.pushed].map(({ epicId }) => epicId)),
  ];
  const rows = epics.sort().map((epicId) => [epicId, ...describeEpic(synced, epicId)]);
  if (snapshots.pushed + snapshots.fetched > 0)
    rows.push([
      'snapshots',
      snapshots.pushed > 0 ? `↑ ${count(snapshots.pushed, 'session')}` : '',
      snapshots.fetched > 0 ? `↓ ${count(snapshots.fetched, 'session')}` : '',
      '',
    ]);
  if (rows.length === 0) return synced.errors.length > 0 ? '' : `${remote}: already up to date`;
  const paint = (text: string) => (text === 'snapshots' ? out.paint('dim', text) : text);
  return formatTable(rows, [{ paint }, {}, {}, {}], out.columns);
}

function describeEpic({ pushed, fetched, merged, returned }: SyncResult, epicId: string): string[] {
  const isIt = (moved: { readonly epicId: string }) => moved.epicId === epicId;
  const [up, down] = [pushed.find(isIt), fetched.find(isIt)];
  return [
    up ? `↑ ${count(up.checkpoints, 'checkpoint')}` : '',
    down ? `↓ ${count(down.checkpoints, 'checkpoint')}` : '',
    [
      ...(merged.some(isIt) ? ['merged'] : []),
      ...(returned.some((id) => id === epicId) ? ['back from another clone, after it was deleted here'] : []),
    ].join('; '),
  ];
}
