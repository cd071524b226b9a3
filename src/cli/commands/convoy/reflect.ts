import { relative, resolve } from 'node:path';
import {
  findReported,
  learningsFile,
  type Orch,
  previewReflection,
  type Reflection,
  refuseLearnings,
  writeLearnings,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { count } from '../../../units.ts';
import { epicOption } from '../../choose.ts';
import { askOrSignal, canAsk } from '../../confirm.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, readText } from '../../spec.ts';
import { readEpic } from './look.ts';

export const command = defineCommand({
  summary: 'what convoys teach, as a diff to the rules for agents',
  description:
    'Propose learnings from the records of convoys, as a diff to a file of rules for agents: gates that sent work back, files in which tasks collided, models that failed, questions with their answers. Writes only after a yes, and never for an agent.',
  argument: { name: 'convoy', description: 'one convoy; the newest 20 by default' },
  options: [
    epicOption('the epic of the convoy'),
    { flags: '--file <file>', description: `the file of rules; ${learningsFile} by default` },
    { flags: '--again', description: 'propose also what was refused or deleted before' },
    { flags: '-y, --yes', description: 'do not ask' },
  ],
  examples: ['orch convoy reflect', 'orch convoy reflect auth --file AGENTS.md'],
  run: inRepository(reflect),
});

async function reflect(context: Context, orch: Orch, call: Call): Promise<number> {
  const { out, json, cwd, settings, argv } = context;
  const epic = readEpic(call, settings);
  const isNamed = call.argument !== undefined || epic !== undefined;
  const convoy = isNamed ? await findReported(orch, { word: call.argument, epic, cwd }) : null;
  const file = nameFromTop(orch, cwd, readText(call, 'file'));
  const reflection = await previewReflection(orch, convoy, { ...file, again: call.options.again === true });
  const { learnings } = reflection;
  const write = () => writeLearnings(orch, reflection, settings.byAgent);
  const isAgreed = call.options.yes === true && learnings.length > 0;
  if (isAgreed) await write();
  if (json) {
    printJson(out, { ...reflection, written: isAgreed });
    return 0;
  }
  if (learnings.length === 0) {
    out.print('Nothing new to learn.');
    return 0;
  }
  showDiff(context, reflection);
  const done = () => out.inform(`✓ ${reflection.file} has ${count(learnings.length, 'more learning')}.`);
  if (isAgreed) done();
  else if (settings.byAgent) out.inform('Nothing was changed: only a person can write rules for agents.');
  else if (!canAsk()) out.inform(`Nothing was changed. To write it: orch ${argv.join(' ')} -y`);
  else {
    const answer = await askOrSignal(`Add ${count(learnings.length, 'learning')}?`);
    if (typeof answer === 'string') return statusOfSignal(answer);
    if (!answer) {
      await refuseLearnings(orch, reflection);
      out.inform('Nothing was changed, and these are not proposed again, unless with --again.');
      return 1;
    }
    await write();
    done();
  }
  return 0;
}

/** A file is named as seen from the current folder. */
function nameFromTop(
  { repository }: Orch,
  cwd: string,
  file: string | undefined,
): { readonly file?: string } {
  if (file === undefined) return {};
  return { file: relative(repository.worktree ?? cwd, resolve(cwd, file)) };
}

function showDiff({ out }: Context, { file, diff }: Reflection): void {
  out.print(out.paint('bold', `+++ ${file}`));
  for (const line of diff.trimEnd().split('\n'))
    out.print(line.startsWith('+') ? out.paint('green', line) : line);
}
