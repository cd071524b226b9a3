import { resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import { describeRestore } from '../library/restore.ts';
import type { Orch } from '../orch.ts';
import { isNothing, restore } from '../session/restore.ts';
import { readSetting } from '../session/restore-facts.ts';
import { readInterrupted } from '../session/restore-interrupted.ts';
import { restoreInto } from '../session/restore-into.ts';
import { scopeOf, showPaths } from '../session/restore-paths.ts';
import { proposeRestore } from '../session/restore-plan.ts';
import { findCode, findUndo, type RestoreTarget } from '../session/restore-target.ts';
import { catchSignals, statusOfSignal } from '../system/signals.ts';
import { count } from '../units.ts';
import { askYesNo, canAsk } from './ask.ts';
import { chooseEpicOf } from './choose.ts';
import { showDone, showInterrupted, showNotSaved, showProposal } from './restore-view.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** `orch restore`: shows what it would do, asks, and does it. */
export async function runRestore(context: Context, call: Call): Promise<number> {
  refuseMixed(call);
  return context.withOrch((orch) => restoreHere(context, orch, call));
}

function refuseMixed({ argument, options, paths }: Call): void {
  const wrong = (message: string, hint: string) => new OrchError('USAGE', message, { hint });
  if (options.undo && (argument !== undefined || paths.length > 0 || options.to !== undefined))
    throw wrong('--undo stands alone: it brings back what was there before', 'Try: orch restore --undo');
  if (!options.undo && argument === undefined)
    throw wrong(
      'which checkpoint?',
      'Name one, such as: orch restore green. Or go back: orch restore --undo',
    );
}

async function restoreHere(context: Context, orch: Orch, call: Call): Promise<number> {
  const target = await findTarget(context, orch, call);
  const folder = textOf(call, 'to');
  if (folder !== undefined) return runInto(context, orch, target, resolve(context.cwd, folder));
  const { out, json } = context;
  const isDryRun = call.options['dry-run'] === true;
  const proposal = await proposeRestore(orch, target);
  const show = isDryRun ? out.print : out.tell;
  if (!json) {
    const setting = await readSetting(orch, target, context.settings.session ?? null);
    const around = { name: call.argument ?? null, now: orch.clock.now(), namesAll: isDryRun };
    for (const line of showProposal(out, proposal, setting, around)) show(line);
  }
  const interrupted = await readInterrupted(orch);
  if (interrupted && !json) show(out.paint('yellow', `  ${showInterrupted(interrupted, target)}`));
  if (isDryRun || (isNothing(proposal.plan) && interrupted === null)) {
    if (json) out.print(JSON.stringify(describeRestore(target, proposal.plan, null)));
    else if (!isDryRun) out.tell('Nothing to do.');
    return 0;
  }
  // An undo that has nothing left to do only notes that the one before it is over.
  const changesNothing = isNothing(proposal.plan) && target.source.kind === 'undo';
  const answer = changesNothing || call.options.yes === true || (await askToRestore(context, call));
  if (answer !== true) {
    out.tell('Nothing was changed.');
    return answer === false ? 1 : statusOfSignal(answer);
  }
  const done = await restore(orch, target);
  if (json) out.print(JSON.stringify(describeRestore(target, done.plan, done)));
  else for (const line of showDone(done)) out.tell(line);
  return 0;
}

async function findTarget(context: Context, orch: Orch, call: Call): Promise<RestoreTarget> {
  if (call.options.undo) return findUndo(orch);
  const epic = await chooseEpicOf(context, orch, textOf(call, 'epic'), call.argument);
  const target = await findCode(orch, epic, call.argument ?? 'latest');
  return call.paths.length === 0
    ? target
    : { ...target, scope: scopeOf(orch.repository, context.cwd, call.paths) };
}

/** The answer, or the signal that came instead of one. */
async function askToRestore({ json, argv }: Context, call: Call): Promise<boolean | NodeJS.Signals> {
  if (json || !canAsk()) {
    const typed = argv.map((word) => (/^[\w.~/=@:+-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
    throw new OrchError('USAGE', 'nothing was changed: not a terminal, so orch cannot ask', {
      hint: `If that is what you want: orch ${call.paths.length > 0 ? typed.replace(' -- ', ' -y -- ') : `${typed} -y`}`,
    });
  }
  const signals = catchSignals();
  const question = 'Your current files are saved first, as a checkpoint. Continue?';
  const isYes = await askYesNo(question, signals.aborted).finally(signals.release);
  return signals.caught()?.signal ?? isYes;
}

async function runInto(
  { out, json }: Context,
  orch: Orch,
  target: RestoreTarget,
  folder: string,
): Promise<number> {
  const paths = await restoreInto(orch, target, folder);
  if (json) {
    const restored = target.source.kind === 'checkpoint' ? target.source.checkpoint : null;
    out.print(JSON.stringify({ restored, changed: showPaths(paths), deleted: [], undo: null, folder }));
  } else {
    out.tell(`restored ${count(paths.length, 'file')} of ${target.label} into ${folder}`);
    for (const line of showNotSaved(target, target.leftOut, Number.POSITIVE_INFINITY)) out.tell(line);
  }
  return 0;
}
