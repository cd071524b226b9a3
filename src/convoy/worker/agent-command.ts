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
  /** Null for the agent's own default. */
  readonly model: string | null;
  readonly codex: CodexFolders;
};

/** The command line that starts a worker's agent. */
export function makeAgentCommand(
  worker: Worker,
  prompt: string,
  { model, codex }: CommandFacts,
): AgentCommand {
  const { agent = 'claude', args = [] } = worker;
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
  if (typeof agent === 'string') return { argv: ['sh', '-c', agent], agent: nameAgent(agent), model };
  return { argv: [...agent, ...args], agent: nameAgent(agent), model };
}

/**
 * What a worker is told to do it may do: a headless Claude Code cannot ask for permission, and by itself it may edit, but
 * neither ask its question nor finish a merge. The rules in the plan's own arguments are added to these.
 */
const rules = [
  '--allowedTools=Bash(orch ask:*),Bash(git merge:*),Bash(git add:*),Bash(git rm:*),Bash(git commit:*)',
  '--disallowedTools=Bash(git stash:*)',
];

/** What people, and the table of models, call an agent. */
export function nameAgent(agent: Worker['agent'] = 'claude'): string {
  return firstWord(typeof agent === 'string' ? agent : (agent[0] ?? 'command'));
}

function firstWord(line: string): string {
  return line.trim().split(/\s+/)[0]?.split('/').at(-1) ?? 'command';
}
