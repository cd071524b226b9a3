import { OrchError } from '../errors.ts';
import { describeDeed } from './deed.ts';
import type { Plan } from './types.ts';

/** What the records of one run may take of a checkpoint, which holds 256 KB with all else the epic knows. */
export const maxRunBytes = 128 * 1024;

/** A record as long as it can get, but for the reason of what went wrong. */
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
/** How deep the records stand in a document, which is indented. */
const indentation = ' '.repeat(5);

/** How many bytes a run of a plan takes in a checkpoint, once all of it is done; what its effects send has what is left. */
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
        effects.map((effect) => [effect.id, { task, ...effectRecord, what: describeDeed(effect.deed) }]),
      ),
    ),
  };
  const text = JSON.stringify(records, null, 1);
  return Buffer.byteLength(text) + indentation.length * text.split('\n').length;
}

/** Refuses a plan whose records would not fit: they must not be lost to make room. */
export function refuseTooLarge(plan: Plan): void {
  const bytes = measureRun(plan);
  if (bytes <= maxRunBytes) return;
  const kilobytes = (size: number) => `${Math.ceil(size / 1024)} KB`;
  throw new OrchError(
    'PLAN_INVALID',
    `${plan.name} is too large: to record its ${plan.tasks.length} tasks takes ${kilobytes(bytes)}, and a run can have ${kilobytes(maxRunBytes)}`,
    { hint: 'Part it into several plans, or declare fewer artifacts', data: { bytes, most: maxRunBytes } },
  );
}
