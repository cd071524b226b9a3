import type { Orch } from '../../orch.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { noteFact } from '../../record/fact-builders.ts';
import { record } from '../../record/record.ts';
import { compareUserState, readUserState } from '../worktree/watch-user.ts';
import type { Convoy, Job } from './job.ts';

/** Looks at what is the user's when a worker begins, so that its end can be compared with it. */
export async function noteUserState(orch: Orch, convoy: Convoy): Promise<void> {
  await convoy.user.inTurn(async () => {
    convoy.user.state ??= await readUserState(orch);
  });
}

/** Reports what has changed of the user's since the last look. Each change is reported once, whoever made it. */
export async function reportUserChanges(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  { target }: RunProgress,
  { task }: Job,
): Promise<void> {
  await convoy.user.inTurn(async () => {
    const before = convoy.user.state;
    const after = await readUserState(orch);
    convoy.user.state = after;
    if (before === null) return;
    const others = [...convoy.active.keys()].filter((id) => id !== task.id);
    const who =
      others.length === 0 ? task.id : `${task.id}, or another worker (${others.slice(0, 5).join(', ')}),`;
    for (const text of compareUserState(before, after)) {
      ports.onEvent({ kind: 'said', task, text: `${who} ${text}` });
      await record(ports, target, [noteFact(orch.random, `${who} ${text}`)]);
    }
  });
}
