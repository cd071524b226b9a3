import type { Millis } from '../types.ts';
import { formatAge } from '../units.ts';
import type { BaselineResult, GateOutcome } from './gate.ts';

/** How much of a failed gate's output is shown. */
const shownLines = 10;

/** Says for people what came of the gates: a line each, and under a failed one the end of its output. */
export function formatBaselineResult({ gates }: BaselineResult): string {
  if (gates.length === 0) {
    return 'There are no gates here. Name them under `gates:` in .orchestration/config.yaml';
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
