import { OrchError } from '../../../errors.ts';
import { type ConvoyReview, catchSignals, reviewConvoy } from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { count } from '../../../units.ts';
import { epicOption } from '../../choose.ts';
import { type Output, printJson } from '../../output.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, readTexts } from '../../spec.ts';
import { formatDollars } from '../../views/money-view.ts';
import { chooseConvoy } from './look.ts';

export const command = defineCommand({
  summary: 'have reviewers look at all that is merged',
  description:
    'Have the reviewers of the plan, or others, look at everything a convoy has merged, with what earlier reviews left open. Exit 3 if they find something critical or high, 75 if too few of them answer.',
  argument: { name: 'convoy', description: 'a convoy, or its plan; the newest by default' },
  options: [
    epicOption('the epic of the convoy'),
    {
      flags: '--by <reviewer>',
      description: 'claude, codex or a command, instead of those of the plan; may be repeated',
      several: true,
    },
  ],
  examples: ['orch convoy review', 'orch convoy review auth --by claude --by codex'],
  run: review,
});

async function review(context: Context, call: Call): Promise<number> {
  return context.withOrch(async (orch) => {
    const convoy = await chooseConvoy(context, orch, call);
    const by = readTexts(call, 'by');
    const signals = catchSignals();
    try {
      const done = await reviewConvoy(orch, convoy, {
        ...(by.length > 0 && { by }),
        signal: signals.aborted,
      });
      if (done === null) return statusOfSignal(signals.caught()?.signal ?? 'SIGINT');
      if (context.json) printJson(context.out, { review: done });
      else for (const line of showReview(context.out, done)) context.out.print(line);
      return refuseUnready(done);
    } finally {
      signals.release();
    }
  });
}

function refuseUnready({ decision, findings }: ConvoyReview): number {
  if (decision === 'accepted') return 0;
  if (decision === 'missing')
    throw new OrchError('RESUME_NEEDED', 'too few reviewers have answered', {
      hint: 'Try again, or name others: orch convoy review --by claude',
    });
  const grave = findings.filter(({ severity }) => severity === 'critical' || severity === 'high');
  throw new OrchError(
    'TASK_FAILED',
    `the review found ${count(grave.length, 'thing')} to fix before it lands`,
    {
      hint: 'Have it fixed: orch convoy add "what to fix"',
    },
  );
}

/** Who reviewed it, what they found, and whether it is ready to land. */
export function showReview(
  out: Output,
  { reviews, findings, open, decision, costUsd }: ConvoyReview,
): string[] {
  const who = reviews.map((review) =>
    review.kind === 'review'
      ? ` ${out.paint('green', '✓')} ${review.by}  ${review.summary}`
      : ` ${out.paint('red', '✗')} ${review.by}  no review: ${review.why}`,
  );
  const what = findings.map(({ severity, file, line, title }) => {
    const color = severity === 'critical' || severity === 'high' ? 'red' : 'yellow';
    const place = file === null ? '' : `${file}${line === null ? '' : `:${line}`}  `;
    return `   ${out.paint(color, severity)}  ${place}${title}`;
  });
  const left = open.length === 0 ? '' : `, ${open.length} more left open by earlier reviews`;
  const cost = costUsd > 0 ? `, ${formatDollars(costUsd)}` : '';
  const verdict =
    decision === 'accepted' ? out.paint('green', 'Ready to land') : out.paint('red', 'Not ready to land');
  return [...who, ...what, `${verdict} (${count(findings.length, 'finding')}${left}${cost}).`];
}
