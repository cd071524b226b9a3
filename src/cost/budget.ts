import { OrchError } from '../errors.ts';
import type { Micros } from '../types.ts';
import { formatMicros, formatUsd, maxMicros, parseUsd, toUsd } from '../units.ts';

type BudgetLevel = 'none' | 'ok' | 'warning' | 'exceeded';

/** An epic's spending against its budget, for scripts. */
export type Budget = {
  readonly limitUsd: number | null;
  readonly spentUsd: number;
  /** The part of it that is an agent's own figure or a guess, not tokens at a price; missing if there is none. */
  readonly estimatedUsd?: number;
  /** Never below 0; the overrun is `spentUsd` minus `limitUsd`. */
  readonly remainingUsd: number | null;
  /** 0 to 100 and above, in tenths, rounded down, so that 100 means reached. */
  readonly percent: number | null;
  readonly level: BudgetLevel;
};

/** The level turns to `warning` here, whatever the policy says. */
const warningPercent = 80n;

/** Compares spending with the limit, exact to the micro-dollar. A limit of $0 counts as exceeded. */
export function describeBudget(spent: Micros, limit: Micros | null, estimated: Micros = 0): Budget {
  const amounts = { spentUsd: toUsd(spent), ...describeEstimate(estimated) };
  if (limit === null) {
    return { limitUsd: null, ...amounts, remainingUsd: null, percent: null, level: 'none' };
  }
  return {
    limitUsd: toUsd(limit),
    ...amounts,
    remainingUsd: toUsd(Math.max(0, limit - spent)),
    percent: limit === 0 ? 100 : Number((BigInt(spent) * 1_000n) / BigInt(limit)) / 10,
    level: levelOf(spent, limit),
  };
}

/** The estimated part of an amount, for scripts. */
export function describeEstimate(estimated: Micros | undefined): { readonly estimatedUsd?: number } {
  return estimated ? { estimatedUsd: toUsd(estimated) } : {};
}

function levelOf(spent: Micros, limit: Micros): BudgetLevel {
  if (spent >= limit) return 'exceeded';
  // Large amounts times a hundred exceed what a number holds exactly.
  return BigInt(spent) * 100n >= BigInt(limit) * warningPercent ? 'warning' : 'ok';
}

/** Reads `--budget`: `20` is the epic's total, `+20` is twenty more than already spent, `none` removes the limit. */
export function parseBudget(text: string, spent: Micros): Micros | null {
  const given = text.trim();
  if (given === 'none') return null;
  const isMore = given.startsWith('+');
  const amount = parseUsd(isMore ? given.slice(1) : given);
  const total = amount === null ? null : isMore ? spent + amount : amount;
  if (total === null || total > maxMicros) {
    throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not a budget`, {
      hint: 'Give the total in dollars such as 20 or 7.50, +20 for twenty more than already spent, or none',
    });
  }
  if (total < spent) throw refuse(total, spent);
  if (total === 0)
    throw new OrchError('BUDGET_REFUSED', 'a budget of $0 would stop every agent before its first request', {
      hint: 'Give an amount such as 5, or none for no limit. To stop an agent now: orch pause',
      data: { limitUsd: 0, spentUsd: toUsd(spent) },
    });
  return total;
}

function refuse(total: Micros, spent: Micros): OrchError {
  const higher = Math.floor(toUsd(spent)) + 1;
  return new OrchError(
    'BUDGET_REFUSED',
    `a budget of ${formatExactly(total)} is below the ${formatExactly(spent)} already spent`,
    {
      hint: `Give a higher total such as ${higher}, or +5 for five dollars more than already spent`,
      data: { limitUsd: toUsd(total), spentUsd: toUsd(spent) },
    },
  );
}

/** Whole cents, unless the difference may be smaller than a cent. */
function formatExactly(micros: Micros): string {
  return micros % 10_000 === 0 ? formatUsd(micros) : `$${formatMicros(micros)}`;
}
