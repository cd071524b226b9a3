import type { Worker } from '../../plan/convoy-shape.ts';
import type { Task } from '../../plan/plan.ts';
import { nameAgent } from '../worker/agent-command.ts';
import type { RoutedTask } from './route.ts';

/** What a model is chosen by. `worker` is the plan's, with what the task says otherwise. */
export function describeForRoute(
  { convoy: { complexity, labels }, files }: Task,
  worker: Worker,
  how: { readonly prompt: string; readonly attempt: number; readonly wanted?: string | undefined },
): RoutedTask {
  const { prompt, attempt, wanted } = how;
  return {
    ...{ agent: nameAgent(worker.agent), model: worker.model, complexity, labels, files },
    ...{ promptBytes: Buffer.byteLength(prompt), attempt, wanted },
  };
}
