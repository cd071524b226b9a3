import { resolve } from 'node:path';
import { noUsage } from '../cost/ledger.ts';
import { estimateOf, moneyOf } from '../cost/money.ts';
import { listUnpriced, type UnpricedModel } from '../cost/unpriced.ts';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { refuseCostElsewhere } from '../session/above.ts';
import { readView } from '../session/context.ts';
import { type Imported, importTranscripts } from '../session/import.ts';
import { describeMoney } from '../session/status.ts';
import { count, formatUsd, toUsd } from '../units.ts';
import { choosePlace, rememberEpic } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { showOutcome, showWarning } from './outcome.ts';
import { formatTable } from './output.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** `cost import`: counts what transcripts say was used, and says of which models. */
export async function runImport(context: Context, orch: Orch, call: Call): Promise<number> {
  if (call.rest.length === 0)
    throw new OrchError('USAGE', 'which files?', { hint: 'Try: orch cost import session.jsonl' });
  const files = call.rest.map((file) => resolve(context.cwd, file));
  await settleConfig(context, orch);
  const place = await choosePlace(context, orch, textOf(call, 'epic'));
  await refuseCostElsewhere(orch, place, [{ kind: 'cost', model: null, usage: noUsage }]);
  const imported = await importTranscripts(orch, place, files);
  await rememberEpic(orch, place.epic);
  const { outcome, added } = imported;
  const { prices } = await orch.readConfig();
  const unpriced = outcome ? listUnpriced(outcome.state.ledger, prices) : [];
  tellRest(context, imported, unpriced);
  if (context.json) {
    const document = {
      epicId: place.epic,
      imported: added.map(({ model, usage }) => {
        const { micros: _, guessed: __, settled: ___, ...tokens } = usage;
        return { model, costUsd: toUsd(moneyOf(model, usage)), ...tokens };
      }),
      skipped: imported.skipped,
      unpriced: unpriced.map(({ model, tokens }) => ({ model, tokens })),
      budget: describeMoney(outcome?.state ?? (await readView(orch, place.epic)).state),
      checkpoint: outcome?.stored?.checkpoint ?? null,
    };
    if (outcome) showWarning(context, outcome);
    if (outcome?.verdict.stop) throw isOver(place.epic, document);
    context.out.print(JSON.stringify(document));
    return 0;
  }
  if (outcome === null) {
    context.out.print('nothing new: all of it was counted before');
    return 0;
  }
  context.out.print(showAdded(context, imported));
  const sum = added.reduce((total, { model, usage }) => total + moneyOf(model, usage), 0);
  return showOutcome(context, place.epic, outcome, `${formatUsd(sum)} counted for ${place.epic}`);
}

function isOver(epic: string, data: Record<string, unknown>): OrchError {
  return new OrchError('BUDGET_EXCEEDED', `counted; the budget of ${epic} is used up`, {
    hint: `Stop here. A person can give it more with: orch cost budget +10 -e ${epic}`,
    data,
  });
}

/** What is not in the sum, and what could be missing in it. */
function tellRest(
  { out }: Context,
  { skipped, isForgotten }: Imported,
  unpriced: readonly UnpricedModel[],
): void {
  for (const file of skipped) out.tell(`orch: ${file} is counted by the hooks of its agent`);
  if (isForgotten)
    out.tell('orch: which files were counted before is forgotten: give those again together with new ones');
  for (const { model, tokens, guess } of unpriced)
    out.tell(
      `orch: ${count(tokens, 'token')} of ${model} have no known price and count as ~${formatUsd(guess)}, the highest price of the family. With a price under prices in .orchestration/config.yaml, import them again`,
    );
}

function showAdded({ out }: Context, { added }: Imported): string {
  const rows = added.map(({ model, usage }) => [
    model,
    `${estimateOf(usage) > 0 ? '~' : ''}${formatUsd(moneyOf(model, usage))}`,
    String(usage.input),
    String(usage.cacheWrite),
    String(usage.cacheRead),
    String(usage.output),
  ]);
  const right = { align: 'right' as const };
  const header = ['MODEL', 'USD', 'IN', 'CACHE WRITE', 'CACHE READ', 'OUT'];
  return formatTable([header, ...rows], [{}, right, right, right, right, right], out.columns);
}
