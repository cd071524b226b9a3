import type { Orch } from '../../orch.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { Millis } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import { takeTurn } from '../../witness/limits.ts';
import { follow, type Job, noteStep } from '../work/job.ts';

/** The short breaks between workers that continue one after the other are not worth a word. */
const longBreak: Millis = 10_000;
/** The machine may sleep meanwhile, or the limit be another one. */
const lookEvery: Millis = 30_000;

/**
 * Waits as long as the agent's provider refuses others: what one worker has learned, the next need not try. False if the
 * task has to stop.
 */
export async function waitForProvider(
  orch: Orch,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
): Promise<boolean> {
  const { agent = 'claude' } = job.worker;
  if (agent !== 'claude' && agent !== 'codex') return true;
  for (let isHeld = false; !ports.signal.aborted; ) {
    const at = await takeTurn(orch, agent);
    if (at === null) {
      if (isHeld) follow(job, 'opened');
      return true;
    }
    const left = at - ports.clock.now();
    if (!isHeld && left > longBreak) {
      isHeld = true;
      const reason = `its provider refuses ${agent} until ${formatInstant(at)}; it continues then by itself`;
      await noteStep(ports, progress, job, 'held', reason);
      ports.onEvent({ kind: 'said', task: job.task, text: `${job.task.id} waits: ${reason}` });
    }
    await sleepUnlessAborted(Math.min(left, lookEvery), ports.signal);
  }
  return false;
}
