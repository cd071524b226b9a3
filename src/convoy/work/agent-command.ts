import type { Worker } from '../../plan/convoy-shape.ts';

/* How an agent is started on a prompt. */

export type AgentCommand = {
  readonly argv: readonly string[];
  /** The name of the agent, for people. */
  readonly agent: string;
  readonly model: string | null;
};

/** The command line that starts a worker's agent; `attempt` chooses the model from a list, unless one is `wanted`. */
export function makeAgentCommand(
  worker: Worker,
  prompt: string,
  attempt: number,
  wanted?: string,
): AgentCommand {
  const { agent = 'claude', args = [] } = worker;
  const model = wanted ?? chooseModel(worker, attempt);
  if (agent === 'claude') {
    const named = model === null ? [] : ['--model', model];
    const mode = args.includes('--permission-mode') ? [] : ['--permission-mode', 'acceptEdits'];
    return { argv: ['claude', '--print', prompt, ...mode, ...named, ...args], agent, model };
  }
  if (agent === 'codex') {
    const named = model === null ? [] : ['--model', model];
    return { argv: ['codex', 'exec', ...named, ...args, prompt], agent, model };
  }
  // Any other agent finds its prompt in a file.
  if (typeof agent === 'string') return { argv: ['sh', '-c', agent], agent: firstWord(agent), model };
  return { argv: [...agent, ...args], agent: firstWord(agent[0] ?? 'command'), model };
}

function firstWord(line: string): string {
  return line.trim().split(/\s+/)[0]?.split('/').at(-1) ?? 'command';
}

/** After each failed attempt the next model of the list, and the last one from then on. */
export function chooseModel({ model = 'auto' }: Pick<Worker, 'model'>, attempt: number): string | null {
  if (typeof model !== 'string') return model[Math.min(attempt, model.length) - 1] ?? null;
  return model === 'auto' ? null : model;
}
