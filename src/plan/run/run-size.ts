import { OrchError } from '../../errors.ts';
import { describeAction } from '../action-text.ts';
import type { Plan } from '../plan.ts';

/** How much of a checkpoint, which holds 256 KB in all, the records of one run may take. */
export const maxRunBytes = 128 * 1024;

/** The longest possible record, apart from the reason of a failure. */
const taskRecord = { status: 'succeeded', attempts: 100, digest: '0'.repeat(16), at: 1e13 };
const artifact = { sha256: '0'.repeat(64), bytes: 1e12 };
const effectRecord = {
  key: '0'.repeat(37),
  status: 'acknowledged',
  reason: null,
  tried: 'elsewhere',
  digest: '0'.repeat(16),
  at: 1e13,
};
/** How far the records are indented in a document. */
const indentation = ' '.repeat(5);

/** Measures how many bytes a finished run of a plan takes in a checkpoint; the rest is for the payloads of its effects. */
export function measureRun({ tasks }: Plan): number {
  const records = {
    tasks: Object.fromEntries(
      tasks.map(({ id, artifacts }) => [
        id,
        { ...taskRecord, artifacts: artifacts.map((path) => ({ path, ...artifact })) },
      ]),
    ),
    effects: Object.fromEntries(
      tasks.flatMap(({ id: task, effects }) =>
        effects.map((effect) => [effect.id, { task, ...effectRecord, what: describeAction(effect.action) }]),
      ),
    ),
  };
  const text = JSON.stringify(records, null, 1);
  return Buffer.byteLength(text) + indentation.length * text.split('\n').length;
}

/** Refuses a plan whose records would not fit: none may be dropped to make room. */
export function refuseTooLarge(plan: Plan): void {
  const bytes = measureRun(plan);
  if (bytes <= maxRunBytes) return;
  const kilobytes = (size: number) => `${Math.ceil(size / 1024)} KB`;
  throw new OrchError(
    'PLAN_INVALID',
    `${plan.name} is too large: recording its ${plan.tasks.length} tasks takes ${kilobytes(bytes)}, and a run may take ${kilobytes(maxRunBytes)}`,
    { hint: 'Split it into several plans, or declare fewer artifacts', data: { bytes, most: maxRunBytes } },
  );
}
