import { resolve } from 'node:path';
import { OrchError } from '../../../errors.ts';
import { type ImportedCosts, importCosts, type Orch, rememberEpic } from '../../../index.ts';
import { count } from '../../../units.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { type Output, printJson, right, showTable } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type ExitStatus, readText } from '../../spec.ts';
import { formatDollars } from '../../views/money-view.ts';
import { checkBudget, showRecorded } from '../../views/recorded-view.ts';

export const command = defineCommand({
  summary: "count costs from agents' transcripts",
  description:
    "Count the costs in agents' transcripts, or in the output of codex exec --json. Each message counts once.",
  argument: { name: 'files', required: true, several: true, description: 'transcripts or event files' },
  options: [epicOption()],
  examples: [
    'orch cost import session.jsonl',
    'orch cost import ~/.claude/projects/-repo/*.jsonl -e feat-login',
  ],
  run: inRepository(runImport),
});

async function runImport(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  if (call.rest.length === 0)
    throw new OrchError('USAGE', 'no file named', { hint: 'Try: orch cost import session.jsonl' });
  const files = call.rest.map((file) => resolve(context.cwd, file));
  await approveConfig(context, orch);
  const place = await choosePlace(context, orch, readText(call, 'epic'));
  const { costs, estimated, recorded, isForgotten } = await importCosts(orch, place, files);
  await rememberEpic(orch, place.epic);
  const { out, json } = context;
  printGaps(out, costs, isForgotten);
  if (json) {
    const document = { ...costs, unpriced: costs.unpriced.map(({ model, tokens }) => ({ model, tokens })) };
    if (recorded) checkBudget(context, recorded, document);
    return printJson(out, document);
  }
  if (recorded === null) {
    out.print('Nothing new: all of it was already counted.');
    return;
  }
  out.print(show(out, costs, estimated));
  const sum = costs.imported.reduce((total, { costUsd }) => total + costUsd, 0);
  return showRecorded(context, recorded, `${formatDollars(sum)} counted for ${place.epic}`);
}

/** Prints what the sum leaves out, and what it may count wrongly. */
function printGaps(out: Output, { skipped, unpriced }: ImportedCosts, isForgotten: boolean): void {
  for (const file of skipped) out.inform(`orch: skipped ${file}: the agent's hooks already count it`);
  if (isForgotten)
    out.inform(
      'orch: the list of imported files was lost. Import the earlier files again, together with new ones.',
    );
  for (const { model, tokens, guessUsd } of unpriced)
    out.inform(
      `orch: ${model} has no known price: ${count(tokens, 'token')} count as ~${formatDollars(guessUsd)}, at the highest price of its family. Set its price under prices in .orchestration/config.yaml, then import again.`,
    );
}

function show(out: Output, { imported }: ImportedCosts, estimated: readonly string[]): string {
  const rows = imported.map(({ model, costUsd, input, cacheWrite, cacheRead, output }) => [
    model,
    `${estimated.includes(model) ? '~' : ''}${formatDollars(costUsd)}`,
    String(input),
    String(cacheWrite),
    String(cacheRead),
    String(output),
  ]);
  const header = ['MODEL', 'USD', 'IN', 'CACHE WRITE', 'CACHE READ', 'OUT'];
  return showTable(out, header, rows, [{}, right, right, right, right, right]);
}
