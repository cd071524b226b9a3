import { OrchError } from '../../../errors.ts';
import { askUser, catchSignals, waitForAnswer } from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { parseDuration } from '../../../units.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { readText, readTexts } from '../../spec.ts';

export const command = defineCommand({
  summary: 'ask the user what only they can decide',
  description:
    'Ask the user what only they can decide. With --wait, prints the answer once it is there; without, end your turn, and the answer comes with the next one.',
  argument: { name: 'text', required: true, several: true, description: 'the question' },
  options: [
    epicOption('the epic; by default that of the running session'),
    { flags: '--option <text>', description: 'a possible answer; may be repeated', several: true },
    { flags: '--wait', description: 'wait for the answer, and print it' },
    { flags: '--timeout <time>', description: 'with --wait: at most so long, such as 10m; then exit 75' },
  ],
  examples: ['orch ask "SES or SMTP?" --option SES --option SMTP --wait'],
  run: inRepository(async (context, orch, call) => {
    const { out, json } = context;
    const time = readText(call, 'timeout');
    const limit = time === undefined ? null : parseDuration(time);
    if (time !== undefined && limit === null)
      throw new OrchError('USAGE', `--timeout takes a duration such as 10m, not ${time.slice(0, 80)}`, {
        hint: 'Leave it out to wait as long as it takes',
      });
    const place = await choosePlace(context, orch, readText(call, 'epic'));
    const question = await askUser(orch, place, call.rest.join(' '), readTexts(call, 'option'));
    if (call.options.wait !== true) {
      if (json) return printJson(out, { question, answer: null });
      out.print(`Asked (${question}). End your turn now; the answer comes with the next one.`);
      return undefined;
    }
    if (!json)
      out.inform(
        `Asked (${question}). Answer it with: orch record question ${question} -e ${place.epic} --answer "…"`,
      );
    const signals = catchSignals();
    try {
      const answer = await waitForAnswer(orch, place.epic, question, { signal: signals.aborted, limit });
      const caught = signals.caught();
      if (caught !== null) return statusOfSignal(caught.signal);
      if (answer === null)
        throw new OrchError('RESUME_NEEDED', 'no answer yet', {
          hint: 'The question stays open. End your turn; the answer comes with the next one.',
          data: { question },
        });
      if (json) printJson(out, { question, answer });
      else out.print(answer);
      return undefined;
    } finally {
      signals.release();
    }
  }),
});
