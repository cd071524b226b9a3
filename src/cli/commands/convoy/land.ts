import {
  checkLanding,
  findNamed,
  type KnownConvoy,
  type Landing,
  landConvoy,
  loadConvoyPlan,
  nameForCommands,
  previewLanding,
} from '../../../index.ts';
import { count } from '../../../units.ts';
import { epicOption } from '../../choose.ts';
import { confirmFirst, confirmOptions } from '../../confirm.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, readText } from '../../spec.ts';
import { readEpic } from './look.ts';

export const command = defineCommand({
  summary: 'merge what a convoy has merged into your branch',
  description:
    'Merge what a convoy has merged into your branch. Shows first what it would do, and asks. A branch that is checked out must have no uncommitted changes.',
  argument: { name: 'convoy', description: 'the convoy, or its plan; the newest by default' },
  options: [
    epicOption('the epic of the convoy'),
    { flags: '--into <branch>', description: 'the branch; by default the one that is checked out' },
    ...confirmOptions,
  ],
  examples: ['orch convoy land', 'orch convoy land auth --into main'],
  run: land,
});

async function land(context: Context, call: Call): Promise<number> {
  const { out, json, settings, cwd } = context;
  return context.withOrch(async (orch) => {
    const epic = readEpic(call, settings);
    const { convoy } = await findNamed(orch, { word: call.argument, epic, cwd });
    const into = readText(call, 'into') ?? readTarget(convoy);
    const landing = await previewLanding(orch, convoy.epic, into);
    if (landing.isLanded) {
      if (json) printJson(out, { landed: null, ...landing });
      else out.print(`Nothing to land: ${landing.into} has everything of ${landing.from}.`);
      return 0;
    }
    const what = describeLanding(landing);
    await checkLanding(orch, landing).catch((error: unknown) => {
      if (!json) out.inform(what);
      throw error;
    });
    if (json && call.options['dry-run'] === true) {
      printJson(out, { landed: null, ...landing });
      return 0;
    }
    const answer = await confirmFirst(context, call, [what], 'Merge it?');
    if (answer !== null) return answer;
    const landed = await landConvoy(orch, convoy.epic, landing);
    if (json) printJson(out, { landed, ...landing });
    else {
      out.print(`${out.paint('green', '✓')} ${landing.into} is at ${landed.slice(0, 10)}.`);
      if (convoy.isActive)
        out.inform(
          `  The convoy is still at work; land again later: orch convoy land ${nameForCommands(convoy, orch, cwd)}`,
        );
    }
    return 0;
  });
}

/** The branch that the plan names. */
function readTarget({ path }: KnownConvoy): string | null {
  return path === null ? null : (loadConvoyPlan(path).convoy.merge?.into ?? null);
}

function describeLanding({ from, into, files, added, removed, isFastForward }: Landing): string {
  const how = isFastForward ? 'fast-forward' : 'merge';
  return `Merge ${from} into ${into} (${count(files, 'file')} +${added} −${removed}, ${how})`;
}
