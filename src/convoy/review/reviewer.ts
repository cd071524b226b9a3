import type { CommandLine } from '../../config/defaults.ts';

/* How a reviewer is started. It reads, and edits nothing: what it changes is thrown away with its worktree. */

const mayRead = '--allowedTools=Read,Grep,Glob,Bash(git diff:*),Bash(git log:*),Bash(git show:*)';
const mayNotEdit = '--disallowedTools=Edit,Write,MultiEdit,NotebookEdit,Bash(git stash:*)';

/** The command line of a reviewer: an agent that gets the request as its prompt, or a command that finds it in a file. */
export function makeReviewCommand(by: CommandLine, prompt: string): readonly string[] {
  if (by === 'claude') return ['claude', '--print', prompt, mayRead, mayNotEdit];
  if (by === 'codex') return ['codex', 'exec', '--sandbox', 'read-only', prompt];
  return typeof by === 'string' ? ['sh', '-c', by] : by;
}

/** What people call it. */
export function nameReviewer(by: CommandLine): string {
  return typeof by === 'string' ? by : by.join(' ');
}
