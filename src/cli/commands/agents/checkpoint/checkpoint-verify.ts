import { OrchError } from '../../../../errors.ts';
import { verifyCheckpoints } from '../../../../index.ts';
import { epicOption } from '../../../choose.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { isNewer, showVerification } from '../../../views/checkpoint-view.ts';

export const command = defineCommand({
  description: 'Read every checkpoint, of one epic or of all, and report damaged ones.',
  options: [epicOption('this epic only')],
  examples: ['orch checkpoint verify', 'orch checkpoint verify --epic feat-login --json'],
  run: inRepository(async (context, orch, call) => {
    const found = await verifyCheckpoints(readText(call, 'epic') ?? null, orch);
    const newer = found.damaged.filter(isNewer);
    const damaged = found.damaged.filter((each) => !isNewer(each));
    const shown = { ...found, damaged, ...(newer.length > 0 && { newer }) };
    answer(context, shown, () => showVerification(context.out, found));
    if (found.damaged.length === 0) return;
    const data = { checked: found.checked, damaged: damaged.length };
    const of = `of ${found.checked} checkpoints`;
    if (damaged.length === 0)
      throw new OrchError(
        'FORMAT_UNSUPPORTED',
        `${newer.length} ${of} ${newer.length === 1 ? 'was' : 'were'} written by a newer orch`,
        {
          hint: 'Nothing is damaged. Update orch to read them.',
          data: { ...data, newer: newer.length },
        },
      );
    throw new OrchError(
      'INTEGRITY',
      `${damaged.length} ${of} ${damaged.length === 1 ? 'is' : 'are'} damaged`,
      {
        hint: 'The others still work. Get back what a remote has: orch doctor --fix',
        data,
      },
    );
  }),
});
