import { basename } from 'node:path';
import type { AgentSessionId } from '../types.ts';
import { claudeCommand } from './claude-command.ts';
import { codexCommand } from './codex-command.ts';

/** The agents whose own files orch reads. */
export type AgentName = 'claude' | 'codex';

/** What a command line says of the conversation it is about. */
export type Conversation =
  /** Nothing: it begins one, which may as well be another's. */
  | { readonly kind: 'open' }
  /** One by its id: it begins under it, or goes on. */
  | { readonly kind: 'named'; readonly session: AgentSessionId; readonly isNew: boolean }
  /** The last one of the folder goes on. */
  | { readonly kind: 'latest' }
  /** One that only shows while it runs, or leaves nothing to read. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** It is about something else: its help, its settings. */
  | { readonly kind: 'none' };

/** What is put into a command line; nothing else in it is touched. */
export type Addition = {
  /** The conversation by its id: a new one under this id, or one that goes on. */
  readonly conversation: { readonly session: AgentSessionId; readonly isNew: boolean } | null;
  /** What the agent has to know. Others wrote some of it, so it never becomes part of a system prompt. */
  readonly brief: BriefToGive | null;
};

/** The brief as quoted text, for a prompt, and the file that holds the same, for an agent that is told where to look. */
export type BriefToGive = { readonly text: string; readonly file: string };

/** How the agent gets the brief: all of it in its prompt, the place where it is, or not at all. */
export type BriefGiven = 'text' | 'file' | null;

/** How an agent's command line is read and added to. */
export type AgentCommand = {
  read(args: readonly string[]): Conversation;
  /** The folder it works in, where it names one. */
  folder(args: readonly string[]): string | null;
  /** What it is asked, where that certainly is an argument. */
  prompt(args: readonly string[]): string | null;
  /** May the one who starts it say under which id a conversation begins? */
  readonly takesNewId: boolean;
  /** The arguments with the addition, and how the brief is in them. */
  add(
    args: readonly string[],
    addition: Addition,
  ): { readonly args: readonly string[]; readonly given: BriefGiven };
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
