import type { PlanStep, Resumption } from '../integration/orchestration-state.ts';
import type { Output } from './output.ts';

const titles: { readonly [K in keyof Resumption['plan']]: string } = {
  pipelines: 'Pipelines',
  barriers: 'Barriers',
  queue: 'Queue',
};

/** The user's own plan, from their ORCHESTRATION.yaml: a line a step, what it is made of below it. */
export function showPlan({ paint }: Output, plan: Resumption['plan']): string {
  const keys = ['pipelines', 'barriers', 'queue'] as const;
  return keys
    .filter((key) => plan[key].length > 0)
    .map((key) =>
      ['', paint('bold', titles[key]), ...plan[key].flatMap((step) => showStep(step, 1))].join('\n'),
    )
    .join('\n');
}

function showStep({ name, status, waitsFor, parts }: PlanStep, depth: number): string[] {
  const waits = waitsFor.length > 0 ? `, waits for ${waitsFor.join(', ')}` : '';
  const line = `${'  '.repeat(depth)}${name}${status === null ? '' : ` ${status}`}${waits}`;
  return [line, ...parts.flatMap((part) => showStep(part, depth + 1))];
}
