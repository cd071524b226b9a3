import { isHandedOver } from '../checkpoint/brief/source.ts';
import { OrchError } from '../errors.ts';
import { handOver } from '../session/handover.ts';
import { epicOption, viewEpic } from './choose.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, textOf } from './spec.ts';

export const briefSpec: CommandSpec = {
  name: 'brief',
  summary: 'what the next agent should know',
  description: 'Print what the next agent should know.',
  options: [
    epicOption(),
    { flags: '--format <kind>', description: 'md or json', initial: 'md' },
    { flags: '--max-tokens <n>', description: 'what matters least is left out' },
    { flags: '--checkpoint <name>', description: 'as it was at this checkpoint', names: 'checkpoint' },
  ],
  examples: ['orch brief', 'orch brief -e feat-login --max-tokens 500', 'orch brief --format json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const format = textOf(call, 'format') ?? 'md';
      if (format !== 'md' && format !== 'json')
        throw new OrchError('USAGE', `--format can be md or json, not ${JSON.stringify(format)}`, {
          hint: 'Try --format md',
        });
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const most = parseMost(textOf(call, 'max-tokens'));
      const { brief, from } = await handOver(orch, view, textOf(call, 'checkpoint') ?? null, most);
      const { out, json } = context;
      const { markdown, tokens, sections } = brief;
      const handedOverTo = from && isHandedOver(view.state, from.id);
      const document = { brief: markdown, tokens, sections, from, handedOverTo };
      if (json) out.print(JSON.stringify(document));
      else out.print(format === 'json' ? JSON.stringify(document, null, 2) : markdown.trimEnd());
      return 0;
    }),
};

function parseMost(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--max-tokens takes a whole number from 1 up, not ${JSON.stringify(text)}`, {
    hint: 'Try --max-tokens 1000',
  });
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [briefSpec]);
}
