import { type CodexFolders, sandboxCodex } from '../../agents/codex/codex-sandbox.ts';
import type { Worker } from '../../plan/convoy-shape.ts';

/* How an agent is started on a prompt. */

export type AgentCommand = {
  readonly argv: readonly string[];
  /** The name of the agent, for people. */
  readonly agent: string;
  readonly model: string | null;
};

type CommandFacts = {
  /** Chooses the model from a list, unless one is wanted. */
  readonly attempt: number;
  readonly wanted?: string | undefined;
  readonly codex: CodexFolders;
};

/** The command line that starts a worker's agent. */
export function makeAgentCommand(
  worker: Worker,
  prompt: string,
  { attempt, wanted, codex }: CommandFacts,
): AgentCommand {
  const { agent = 'claude', args = [] } = worker;
  const model = wanted ?? chooseModel(worker, attempt);
  if (agent === 'claude') {
    const named = model === null ? [] : ['--model', model];
    const hasMode = args.some((each) => /^--permission-mode(?:=|$)/.test(each));
    const mode = hasMode ? [] : ['--permission-mode', 'acceptEdits'];
    return { argv: ['claude', '--print', prompt, ...mode, ...rules, ...named, ...args], agent, model };
  }
  if (agent === 'codex') {
    const named = model === null ? [] : ['--model', model];
    return { argv: ['codex', 'exec', ...sandboxCodex(args, codex), ...named, ...args, prompt], agent, model };
  }
  // Any other agent finds its prompt in a file.
  if (typeof agent === 'string') return { argv: ['sh', '-c', agent], agent: firstWord(agent), model };
  return { argv: [...agent, ...args], agent: firstWord(agent[0] ?? 'command'), model };
}

/**
 * What a worker is told to do it may do: a headless Claude Code cannot ask for permission, and by itself it may edit, but
 * neither ask its question nor finish a merge. The rules in the plan's own arguments are added to these.
 */
const rules = [
  '--allowedTools=Bash(orch ask:*),Bash(git merge:*),Bash(git add:*),Bash(git rm:*),Bash(git commit:*)',
  '--disallowedTools=Bash(git stash:*)',
];

function firstWord(line: string): string {
  return line.trim().split(/\s+/)[0]?.split('/').at(-1) ?? 'command';
}

/** After each failed attempt the next model of the list, and the last one from then on. */
export function chooseModel({ model = 'auto' }: Pick<Worker, 'model'>, attempt: number): string | null {
  if (typeof model !== 'string') return model[Math.min(attempt, model.length) - 1] ?? null;
  return model === 'auto' ? null : model;
}
