import { resolve } from 'node:path';
import { OrchError } from '../../../errors.ts';
import {
  type Orch,
  previewRestore,
  type RestorePreview,
  restoreCheckpoint,
  undoRestore,
  writeCheckpointTo,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { cleanLine } from '../../../text.ts';
import type { Millis } from '../../../types.ts';
import { count } from '../../../units.ts';
import { chooseEpicOf, epicOption } from '../../choose.ts';
import { askOrSignal, canAsk, cannotAsk } from '../../confirm.ts';
import { type Output, printJson } from '../../output.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, type ExitStatus, readText } from '../../spec.ts';
import { mostNamed, quoteText, showDone, showHead } from '../../views/restore-view.ts';
import { describeTime } from '../../views/time-view.ts';

export const command = defineCommand({
  summary: 'bring code back; --undo',
  description:
    'Bring the code of a checkpoint back into the working tree. Shows what will change, and asks. Your current files are saved first; --undo brings them back. HEAD, branches and index do not change. Ignored files stay, unless the checkpoint has a file of that name.',
  argument: {
    name: 'name',
    description: 'number, latest, latest~2, green, s7, "2h ago", or the start of an id, a commit or a run',
    names: 'checkpoint',
  },
  takesPaths: true,
  options: [
    epicOption(),
    { flags: '-y, --yes', description: 'restore without asking' },
    { flags: '--dry-run', description: 'list every file that would change, and change nothing' },
    { flags: '--undo', description: 'bring back the files from before the last restore' },
    {
      flags: '--to <dir>',
      description: 'write into a new or empty folder instead of the working tree',
    },
  ],
  examples: [
    'orch restore green',
    'orch restore 58 -e feat-login -- src/login.ts test',
    'orch restore "2h ago" --to /tmp/before',
    'orch restore --undo',
  ],
  run: async (context, call) => {
    refuseMixed(call);
    return context.withOrch((orch) => restoreHere(context, orch, call));
  },
});

function refuseMixed({ argument, options, paths }: Call): void {
  const wrong = (message: string, hint: string) => new OrchError('USAGE', message, { hint });
  if (options.undo && (argument !== undefined || paths.length > 0 || options.to !== undefined))
    throw wrong('--undo cannot be combined with a checkpoint, paths or --to', 'Try: orch restore --undo');
  if (!options.undo && argument === undefined)
    throw wrong(
      'no checkpoint named',
      'Try: orch restore green. To undo the last restore: orch restore --undo',
    );
}

async function restoreHere(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const input = call.options.undo === true ? 'undo' : await readInput(context, orch, call);
  const folder = readText(call, 'to');
  if (folder !== undefined && input !== 'undo')
    return writeToFolder(context, orch, resolve(context.cwd, folder), input);
  const { out, json } = context;
  const isDryRun = call.options['dry-run'] === true;
  const preview = await previewRestore(input, orch, context.settings.session);
  const { isNothing, interrupted, undoes, result } = preview;
  if (!json) {
    const options = { name: call.argument ?? null, now: orch.clock.now(), namesAll: isDryRun };
    for (const line of show(out, preview, options)) (isDryRun ? out.print : out.inform)(line);
  }
  if (isDryRun || (isNothing && interrupted === null)) {
    if (json) printJson(out, result);
    else if (!isDryRun) out.inform('Nothing to do.');
    return;
  }
  // An undo with nothing left to do only records that the previous one is complete.
  const changesNothing = isNothing && undoes !== null;
  const answer = changesNothing || call.options.yes === true || (await askToRestore(context, call));
  if (answer !== true) {
    out.inform('Nothing was changed.');
    return answer === false ? 1 : statusOfSignal(answer);
  }
  // By id, because the name may mean another checkpoint by now than the one that was shown.
  const done =
    undoes !== null || input === 'undo'
      ? await undoRestore(undoes === null ? {} : { commit: undoes }, orch)
      : await restoreCheckpoint({ ...input, name: result.restored?.id ?? input.name }, orch);
  if (json) printJson(out, done);
  else for (const line of showDone(done)) out.inform(line);
}

async function readInput(context: Context, orch: Orch, call: Call) {
  const name = call.argument ?? 'latest';
  const epicId = await chooseEpicOf(context, orch, readText(call, 'epic'), call.argument);
  return { epicId, name, ...(call.paths.length > 0 && { paths: call.paths, cwd: context.cwd }) };
}

async function writeToFolder(
  { out, json }: Context,
  orch: Orch,
  folder: string,
  input: Parameters<typeof writeCheckpointTo>[1],
): Promise<undefined> {
  const written = await writeCheckpointTo(folder, input, orch);
  const { restored, changed, deleted, undo, label, notInSnapshot } = written;
  if (json) printJson(out, { restored, changed, deleted, undo, folder });
  else {
    out.inform(`Restored ${count(changed.length, 'file')} of ${label} into ${folder}`);
    for (const line of listFiles(notInSnapshotTitle(label), notInSnapshot, Number.POSITIVE_INFINITY))
      out.inform(line);
  }
}

async function askToRestore({ json, argv }: Context, call: Call): Promise<boolean | NodeJS.Signals> {
  if (json || !canAsk()) {
    const typed = argv.map((word) => (/^[\w.~/=@:+-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
    throw cannotAsk(`orch ${call.paths.length > 0 ? typed.replace(' -- ', ' -y -- ') : `${typed} -y`}`);
  }
  return askOrSignal('Your current files will be saved as a checkpoint first. Continue?');
}

/** Shows what would be restored and changed, and what the user should know first. */
function show(
  out: Output,
  preview: RestorePreview,
  { name, now, namesAll }: { readonly name: string | null; readonly now: Millis; readonly namesAll: boolean },
): string[] {
  const { label, notTouched, notInSnapshot, setting } = preview;
  const most = namesAll ? Number.POSITIVE_INFINITY : mostNamed;
  return [
    showSource(preview, name, now),
    `  ${showCounts(preview)}`,
    ...showFiles(out, preview, most),
    ...showKept(preview, most),
    ...listFiles('Not touched, because they could not be saved first', notTouched, most),
    ...listFiles(notInSnapshotTitle(label), notInSnapshot, most),
    ...showHead(label, setting),
    ...showOthers(out, setting),
    ...showInterrupted(out, preview),
  ];
}

const gateWords = {
  green: 'the gates passed on exactly this tree',
  red: 'the gates failed on exactly this tree',
  unknown: 'no gates ran on this tree',
} as const;

function showSource({ result, label, at }: RestorePreview, name: string | null, now: Millis): string {
  const when = describeTime(at, now);
  if (result.restored === null) return `${label}, ${when}`;
  const { seq, gates } = result.restored;
  const said = name === null || name === String(seq) ? label : `${name} is ${label}`;
  return `${said}, ${when}; ${gateWords[gates]}`;
}

/** `11 modified, 3 deleted, 2 restored`. */
function showCounts({ result, comesBack }: RestorePreview): string {
  const changing = result.changed.length - comesBack.length;
  const parts = [
    changing > 0 && `${changing} modified`,
    result.deleted.length > 0 && `${result.deleted.length} deleted`,
    comesBack.length > 0 && `${comesBack.length} restored`,
  ];
  return parts.filter(Boolean).join(', ') || 'nothing to change';
}

function showFiles(out: Output, { result, comesBack, savedForUndo }: RestorePreview, most: number): string[] {
  const [changed, back, saved] = [result.changed, comesBack, savedForUndo].map((paths) => new Set(paths));
  const mark = (path: string) => (back?.has(path) ? 'A' : changed?.has(path) ? 'M' : 'D');
  const colours = { A: 'green', M: 'yellow', D: 'red' } as const;
  const paths = [...new Set([...result.changed, ...result.deleted])].sort();
  const lines = paths.slice(0, most).map((path) => {
    const note = saved?.has(path) ? ' (ignored by git; saved for --undo in this clone only)' : '';
    return `    ${out.paint(colours[mark(path)], mark(path))} ${quoteText(path)}${note}`;
  });
  return [...lines, ...formatMore(paths.length - lines.length)];
}

function formatMore(more: number): string[] {
  return more > 0 ? [`    … and ${more} more (--dry-run lists all)`] : [];
}

function showKept({ result: { kept } }: RestorePreview, most: number): string[] {
  if (kept.length === 0) return [];
  const lines = kept.slice(0, most).map(({ path, reason }) => `    ${quoteText(path)} (${reason})`);
  const stays = kept.length === 1 ? 'stays as it is' : 'stay as they are';
  return [`  ${count(kept.length, 'file')} ${stays}:`, ...lines, ...formatMore(kept.length - lines.length)];
}

function notInSnapshotTitle(label: string): string {
  return `Not in the snapshot of ${label}, so not restored`;
}

function listFiles(title: string, files: RestorePreview['notTouched'], most: number): string[] {
  if (files.length === 0) return [];
  const lines = files.map(({ path, reason }) => `    ${quoteText(path)} (${reason})`).sort();
  return [`  ${title}:`, ...lines.slice(0, most), ...formatMore(lines.length - most)];
}

function showOthers(out: Output, { workers, operation }: RestorePreview['setting']): string[] {
  return [
    ...workers.map(({ name, pid }) =>
      out.paint(
        'yellow',
        `  ${cleanLine(name, 80)} (pid ${pid}) is working here and will see files change under it.`,
      ),
    ),
    ...(operation === null
      ? []
      : [out.paint('yellow', `  A ${operation} is in progress and stays in progress: only files change.`)]),
  ];
}

/** Says what happens to a restore that was interrupted here. */
function showInterrupted(out: Output, { interrupted, undoes }: RestorePreview): string[] {
  if (interrupted === null) return [];
  const what = `An earlier restore was interrupted: ${interrupted.over}.`;
  const then =
    undoes === null
      ? 'It will be completed or rolled back first.'
      : interrupted.isUndo
        ? 'It will be done again.'
        : 'It will be undone.';
  return [out.paint('yellow', `  ${what} ${then}`)];
}
