/* What a worker is told. Short, because the task is what matters; the gates say the rest. */

export type PromptFacts = {
  readonly task: string;
  readonly name: string;
  readonly text: string;
  readonly branch: string;
  /** Globs the task may touch; empty if the plan does not say. */
  readonly files: readonly string[];
  /** What other workers do now. */
  readonly others: readonly {
    readonly task: string;
    readonly name: string;
    readonly files: readonly string[];
  }[];
  /** Why the work was sent back; null in the first attempt. */
  readonly feedback: string | null;
  /** What people said meanwhile; empty if nothing. */
  readonly messages: string;
  /** What it is to do first, or now, if its task has phases. */
  readonly phase: string | null;
};

/** Formats the prompt of a worker. What was sent back comes first, because it is what is left to do. */
export function formatPrompt(facts: PromptFacts): string {
  const { task, name, text, branch, files, others, feedback, messages, phase } = facts;
  const sections = [
    feedback === null
      ? null
      : `Your earlier work on this task was not accepted:\n\n${feedback}\n\nIt is in this worktree. Continue from there.`,
    messages === '' ? null : messages,
    text.trim(),
    phase,
    [
      `You are working on task "${task}"${name === task ? '' : ` (${name})`} in a git worktree of your own, on branch ${branch}.`,
      ...(files.length === 0 ? [] : [`Change only: ${files.join(', ')}.`]),
      ...(others.length === 0
        ? []
        : [
            'Other agents are working on other tasks at the same time, each in its own worktree:',
            ...others.slice(0, 20).map((other) => `- ${describe(other)}`),
          ]),
      'Stay on this branch and in this folder. Do not use git stash, and do not end processes you have not started: both are shared.',
      'If only the user can decide something, or you are not sure that your work is right, ask: orch ask "your question" --wait',
      'When you are done, the work is committed for you, merged, and checked by the gates of the repository; they decide.',
    ].join('\n'),
  ];
  return `${sections.filter((section) => section !== null).join('\n\n')}\n`;
}

function describe({ task, name, files }: PromptFacts['others'][number]): string {
  const what = name === task ? task : `${task}: ${name}`;
  return files.length === 0 ? what : `${what} (${files.join(', ')})`;
}
