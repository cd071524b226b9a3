import { OrchError } from '../../../errors.ts';
import { readBrief } from '../../../index.ts';
import { chooseEpic, epicOption } from '../../choose.ts';
import { answer, defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';

export const command = defineCommand({
  summary: 'what the next agent should know',
  description: 'Print what the next agent should know.',
  options: [
    epicOption(),
    { flags: '--format <kind>', description: 'md or json', initial: 'md' },
    { flags: '--max-tokens <n>', description: 'leave out what matters least beyond this length' },
    { flags: '--checkpoint <name>', description: 'as it was at this checkpoint', names: 'checkpoint' },
  ],
  examples: ['orch brief', 'orch brief -e feat-login --max-tokens 500', 'orch brief --format json'],
  run: inRepository(async (context, orch, call) => {
    const format = readText(call, 'format') ?? 'md';
    if (format !== 'md' && format !== 'json')
      throw new OrchError('USAGE', `--format can be md or json, not ${JSON.stringify(format)}`, {
        hint: 'Try --format md',
      });
    const maxTokens = parseMaxTokens(readText(call, 'max-tokens'));
    const checkpoint = readText(call, 'checkpoint');
    const epic = await chooseEpic(context, orch, readText(call, 'epic'), false);
    const options = { ...(maxTokens && { maxTokens }), ...(checkpoint && { checkpoint }) };
    const { markdown, quoted: _, ...rest } = await readBrief(epic, options, orch);
    const document = { brief: markdown, ...rest };
    const isJson = format === 'json';
    answer(context, document, () => (isJson ? JSON.stringify(document, null, 2) : markdown.trimEnd()));
  }),
});

function parseMaxTokens(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--max-tokens takes a whole number above 0, not ${JSON.stringify(text)}`, {
    hint: 'Try --max-tokens 1000',
  });
}
