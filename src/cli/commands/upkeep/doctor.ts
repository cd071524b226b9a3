import { OrchError } from '../../../errors.ts';
import { type Diagnosed, runDoctor } from '../../../index.ts';
import { cleanLine, columnsOf } from '../../../text.ts';
import { count } from '../../../units.ts';
import type { Output } from '../../output.ts';
import { answer, defineCommand, inRepository } from '../../run-command.ts';

export const command = defineCommand({
  summary: 'find problems; --fix repairs them',
  description:
    'Check git, the repository, settings, hooks, sessions, locks, journals and checkpoints, and report problems. Changes nothing without --fix, and --fix never loses anything.',
  options: [{ flags: '--fix', description: 'repair what orch can repair, then check again' }],
  examples: ['orch doctor', 'orch doctor --fix', 'orch doctor --json'],
  run: inRepository(async (context, orch, call) => {
    const fix = call.options.fix === true;
    const found = await runDoctor({ fix, pinnedWriter: context.settings.writer }, orch);
    const { ok, checks, fixed } = found;
    answer(context, { ok, checks, ...(fix && { fixed }) }, () => show(context.out, found));
    if (ok) return;
    const failing = checks.filter(({ status }) => status === 'fail').map(({ name }) => name);
    throw new OrchError('DOCTOR_FAILED', `${count(failing.length, 'check')} failed: ${failing.join(', ')}`, {
      hint: 'The line below each failed check says what to do',
      data: { checks: failing },
    });
  }),
});

const marks = { ok: ['✓', 'green'], warn: ['▲', 'yellow'], fail: ['✗', 'red'] } as const;

function show(out: Output, { checks, fixed, fixable }: Diagnosed): string {
  const width = Math.max(...checks.map(({ name }) => columnsOf(name)));
  const lines = checks.flatMap(({ name, status, evidence, fix }) => {
    const [mark, colour] = marks[status];
    const padding = ' '.repeat(width - columnsOf(name));
    // Evidence may quote any text, so control characters are removed.
    const shown = `${out.paint(colour, mark)} ${name}${padding}  ${cleanLine(evidence)}`;
    return fix ? [shown, `${' '.repeat(width + 4)}${out.paint('dim', cleanLine(fix))}`] : [shown];
  });
  const repaired = fixed.length > 0 ? [`Repaired: ${fixed.join(', ')}.`] : [];
  return [...lines, ...repaired, summarise(checks, fixable.length > 0)].join('\n');
}

function summarise(checks: Diagnosed['checks'], canFix: boolean): string {
  const [failed, warned] = (['fail', 'warn'] as const).map(
    (status) => checks.filter((check) => check.status === status).length,
  );
  if (failed === 0 && warned === 0) return 'No problems found.';
  return `${failed} failed, ${count(warned ?? 0, 'warning')}.${canFix ? ' Repair what orch can: orch doctor --fix' : ''}`;
}
