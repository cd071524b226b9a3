import type { Millis } from '../types.ts';

/** A line for the shell, or a program and its arguments, started without one. */
export type GateCommand = string | readonly string[];

/** A command that says whether the code is healthy. */
export type Gate = {
  readonly name: string;
  readonly run: GateCommand;
  /** Repairs what the gate complains of, where that can be done by a command. */
  readonly fix: GateCommand | null;
  readonly timeout: Millis;
};

export const defaultGateTimeout: Millis = 5 * 60_000;

export type GateOutcome = {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'timed_out' | 'skipped';
  readonly durationMs: Millis;
  /** The end of what it printed. */
  readonly output: string;
  /** Did it pass only after its `fix` had run? */
  readonly fixed: boolean;
};

export type BaselineResult = { readonly passed: boolean; readonly gates: readonly GateOutcome[] };

/** Did no gate fail or time out? Where there are none, nothing is wrong either. */
export function baselinePassed({ gates }: Pick<BaselineResult, 'gates'>): boolean {
  return gates.every(({ status }) => status === 'passed' || status === 'skipped');
}

/** Sums outcomes up. */
export function makeBaselineResult(gates: readonly GateOutcome[]): BaselineResult {
  return { passed: baselinePassed({ gates }), gates };
}
