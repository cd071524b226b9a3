import { resolve } from 'node:path';
import { OrchError, writeFailed } from '../../../errors.ts';
import {
  type ConvoyReport,
  findReported,
  formatReport,
  measureConvoy,
  measureConvoys,
  type Orch,
  reportConvoy,
} from '../../../index.ts';
import { writeAtomically } from '../../../system/disk.ts';
import { epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { refuseUnwritable } from '../../result-file.ts';
import { answer, type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, readText } from '../../spec.ts';
import { formatComparison, formatMetrics, formatTrend } from '../../views/report-view.ts';
import { readEpic } from './look.ts';

export const command = defineCommand({
  summary: 'what a convoy cost, what failed and why; all of them in numbers',
  description:
    'Report what became of a convoy, in Markdown: money and time by task, attempt and model, what failed and why, questions, collisions, merges, and what is left for you. Its records are enough: plan, worktrees and branches may be gone.',
  argument: { name: 'convoy', description: 'a convoy, or its plan; the newest by default' },
  options: [
    epicOption('the epic of the convoy'),
    { flags: '--html <file>', description: 'write it as one HTML file instead' },
    { flags: '--against <convoy>', description: 'compare it in numbers with another convoy' },
    { flags: '--all', description: 'all convoys in numbers, a line each, and the trend' },
    { flags: '--limit <n>', description: 'with --all: at most so many, the newest', initial: '20' },
  ],
  examples: [
    'orch convoy report',
    'orch convoy report auth --html auth.html',
    'orch convoy report auth --against search',
    'orch convoy report --all',
  ],
  run: inRepository(async (context, orch, call) => {
    const against = readText(call, 'against');
    const html = readText(call, 'html');
    if (call.options.all === true && html !== undefined)
      throw new OrchError('USAGE', '--all is printed, and --html is for one convoy', {
        hint: 'Name the convoy: orch convoy report NAME --html FILE',
      });
    if (call.options.all === true) return reportAll(context, orch, readLimit(call));
    const report = await readReport(context, orch, call, call.argument);
    if (against !== undefined)
      return compare(context, report, await readReport(context, orch, call, against));
    if (html === undefined)
      return answer(context, { report }, () => formatReport(report, 'markdown').trimEnd());
    return saveHtml(context, orch, report, html);
  }),
});

async function readReport(
  { cwd, settings }: Context,
  orch: Orch,
  call: Call,
  word: string | undefined,
): Promise<ConvoyReport> {
  // A convoy that is named is another one than that of the surroundings.
  const epic = word === undefined ? readEpic(call, settings) : undefined;
  return reportConvoy(orch, await findReported(orch, { word, epic, cwd }));
}

async function saveHtml({ cwd, out, json }: Context, orch: Orch, report: ConvoyReport, file: string) {
  refuseUnwritable(cwd, file, '--html');
  try {
    await writeAtomically(orch, resolve(cwd, file), formatReport(report, 'html'));
  } catch (error) {
    throw writeFailed(`the report ${file} could not be written`, error);
  }
  if (json) printJson(out, { report, file });
  else out.print(`${out.paint('green', '✓')} ${file} has the report of ${report.convoy.name}.`);
  return undefined;
}

function compare(context: Context, one: ConvoyReport, other: ConvoyReport): undefined {
  const [mine, theirs] = [measureConvoy(one), measureConvoy(other)];
  return answer(context, { convoy: mine, against: theirs }, () =>
    formatComparison(context.out, theirs, mine),
  );
}

async function reportAll(context: Context, orch: Orch, limit: number) {
  const measured = await measureConvoys(orch, limit);
  const { convoys, trend } = measured;
  return answer(context, measured, () => {
    if (convoys.length === 0) return 'This repository has no convoys yet.';
    const lines = formatMetrics(context.out, convoys, orch.clock.now());
    return trend === null ? lines : `${lines}\n\n${formatTrend(context.out, trend)}`;
  });
}

const mostConvoys = 1_000;

export function readLimit(call: Call): number {
  const text = readText(call, 'limit') ?? '20';
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit > 0) return Math.min(limit, mostConvoys);
  throw new OrchError('USAGE', `--limit takes a whole number above 0, not ${text.slice(0, 80)}`, {
    hint: 'Try --limit 50',
  });
}
