import type { Millis } from '../types.ts';
import { formatAge } from '../units.ts';

export type { Gate } from '../config/load.ts';

export type GateOutcome = {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'timed_out' | 'skipped';
  readonly durationMs: Millis;
  /** The end of its output. */
  readonly output: string;
  /** Did it pass only after its `fix` had run? */
  readonly fixed: boolean;
};

export type BaselineResult = { readonly passed: boolean; readonly gates: readonly GateOutcome[] };

/** True if no gate failed or timed out, and if there are none. */
export function baselinePassed({ gates }: Pick<BaselineResult, 'gates'>): boolean {
  return gates.every(({ status }) => status === 'passed' || status === 'skipped');
}

/** Makes the result of all gates. */
export function makeBaselineResult(gates: readonly GateOutcome[]): BaselineResult {
  return { passed: baselinePassed({ gates }), gates };
}

/** How much of a failed gate's output is shown. */
const shownLines = 10;

/** Formats the results for people: one line per gate, and below a failed one the end of its output. */
export function formatBaselineResult({ gates }: BaselineResult): string {
  if (gates.length === 0) {
    return 'No gates found. List them under `gates:` in .orchestration/config.yaml';
  }
  return gates.map(formatOutcome).join('\n');
}

function formatOutcome({ name, status, durationMs, output, fixed }: GateOutcome): string {
  switch (status) {
    case 'passed':
      return `✓ ${name} ${formatDuration(durationMs)}${fixed ? ' (after a fix)' : ''}`;
    case 'failed':
      return `✗ ${name} ${formatDuration(durationMs)}${formatEnd(output)}`;
    case 'timed_out':
      return `⧖ ${name} timed out after ${durationMs < 1_000 ? `${durationMs}ms` : formatAge(durationMs)}`;
    case 'skipped':
      return `– ${name} skipped${output === '' ? '' : `: ${output.split('\n').at(-1)}`}`;
  }
}

function formatEnd(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-shownLines)
    .map((line) => `\n    ${line}`)
    .join('');
}

function formatDuration(duration: Millis): string {
  if (duration < 60_000) return `${(duration / 1_000).toFixed(1)} s`;
  return `${Math.floor(duration / 60_000)}m ${Math.floor((duration % 60_000) / 1_000)}s`;
}
