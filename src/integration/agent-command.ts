import { basename } from 'node:path';
import { claudeCommand } from './claude-command.ts';
import { codexCommand } from './codex-command.ts';

/** The agents whose own files orch reads. */
export type AgentName = 'claude' | 'codex';

/** What a command line says of the conversation it is about. */
export type Conversation =
  /** Nothing: it begins one, which may as well be another's. */
  | { readonly kind: 'open' }
  /** One by its id: it begins under it, or goes on. */
  | { readonly kind: 'named'; readonly session: string; readonly isNew: boolean }
  /** The last one of the folder goes on. */
  | { readonly kind: 'latest' }
  /** One that only shows while it runs, or leaves nothing to read. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** It is about something else: its help, its settings. */
  | { readonly kind: 'none' };

/** What is put into a command line; nothing else in it is touched. */
export type Addition = {
  /** The conversation by its id: a new one under this id, or one that goes on. */
  readonly conversation: { readonly session: string; readonly isNew: boolean } | null;
  /** What the agent has to know. */
  readonly brief: string | null;
};

/** How an agent's command line is read and added to. */
export type AgentCommand = {
  read(args: readonly string[]): Conversation;
  /** The folder it works in, where it names one. */
  folder(args: readonly string[]): string | null;
  /** May the one who starts it say under which id a conversation begins? */
  readonly takesNewId: boolean;
  /** The arguments with the addition; `tookBrief` says whether there was a place for the brief. */
  add(args: readonly string[], addition: Addition): { args: readonly string[]; tookBrief: boolean };
};

const commands: { readonly [N in AgentName]: AgentCommand } = { claude: claudeCommand, codex: codexCommand };

/** The agent a command is, by its name; null where it is none orch knows. */
export function identifyAgent([program = '']: readonly string[]): AgentName | null {
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, '');
  return name === 'claude' || name === 'codex' ? name : null;
}

/** How the command line of an agent is read and added to. */
export function commandOf(agent: AgentName): AgentCommand {
  return commands[agent];
}
