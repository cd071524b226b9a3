import { OrchError } from '../errors.ts';
import type { Micros } from '../types.ts';
import { formatMicros, formatUsd, maxMicros, parseUsd, toUsd } from '../units.ts';

export type BudgetLevel = 'none' | 'ok' | 'warning' | 'exceeded';

/** How an epic stands with its money, as scripts see it. */
export type Budget = {
  readonly limitUsd: number | null;
  readonly spentUsd: number;
  /** The part of it that is an agent's own figure, or a guess, rather than tokens at a price; left out where there is none. */
  readonly estimatedUsd?: number;
  /** Never below 0: what is spent past the limit is the difference of the two. */
  readonly remainingUsd: number | null;
  /** 0 to 100 and past it, in tenths, rounded down: 100 is only said when it is reached. */
  readonly percent: number | null;
  readonly level: BudgetLevel;
};

/** From here on it is close; whatever the policy says. */
const warningPercent = 80n;

/** Compares what is spent with the limit, exactly to the micro-dollar. A limit of nothing is exceeded at once. */
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

/** How much of an amount is estimated, as scripts see it. */
export function describeEstimate(estimated: Micros | undefined): { readonly estimatedUsd?: number } {
  return estimated ? { estimatedUsd: toUsd(estimated) } : {};
}

function levelOf(spent: Micros, limit: Micros): BudgetLevel {
  if (spent >= limit) return 'exceeded';
  // Large amounts times a hundred are past what a number holds exactly.
  return BigInt(spent) * 100n >= BigInt(limit) * warningPercent ? 'warning' : 'ok';
}

/** Reads `--budget`: `20` is the epic's total, `+20` twenty more than is spent now, `none` lifts it. */
export function parseBudget(text: string, spent: Micros): Micros | null {
  const given = text.trim();
  if (given === 'none') return null;
  const isMore = given.startsWith('+');
  const amount = parseUsd(isMore ? given.slice(1) : given);
  const total = amount === null ? null : isMore ? spent + amount : amount;
  if (total === null || total > maxMicros) {
    throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not a budget`, {
      hint: 'Give dollars in all such as 20 or 7.50, +20 for twenty more than is spent, or none',
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
      hint: `Give a higher total such as ${higher}, or +5 for five dollars more than is spent`,
      data: { limitUsd: toUsd(total), spentUsd: toUsd(spent) },
    },
  );
}

/** Cents, unless the difference may be in what comes after them. */
function formatExactly(micros: Micros): string {
  return micros % 10_000 === 0 ? formatUsd(micros) : `$${formatMicros(micros)}`;
}
