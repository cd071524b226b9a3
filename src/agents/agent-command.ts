import { basename } from 'node:path';
import type { AgentSessionId } from '../types.ts';
import { claudeCommand } from './claude/claude-command.ts';
import { codexCommand } from './codex/codex-command.ts';

/** The agents whose own files orch reads. */
export type AgentName = 'claude' | 'codex';

/** Which conversation a command line starts or continues. */
export type Conversation =
  /** A new conversation, for which orch may choose the id. */
  | { readonly kind: 'open' }
  /** A conversation named by its id, new or continued. */
  | { readonly kind: 'named'; readonly session: AgentSessionId; readonly isNew: boolean }
  /** Continues the folder's latest conversation. */
  | { readonly kind: 'latest' }
  /** A conversation that is known only once it runs, or leaves no transcript. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** No conversation: help, settings and the like. */
  | { readonly kind: 'none' };

/** What orch adds to a command line; everything else stays as it is. */
export type Addition = {
  readonly conversation: { readonly session: AgentSessionId; readonly isNew: boolean } | null;
  /** Some of the brief was written by others, so it never becomes part of a system prompt. */
  readonly brief: BriefToGive | null;
  /** Does it work for a convoy, in which people talk to it while it works? */
  readonly hearsMessages: boolean;
};

/** The brief as quoted text for a prompt, and as a file the agent can be pointed to. */
export type BriefToGive = { readonly text: string; readonly file: string };

/** How the agent gets the brief: in its prompt, as a file to read, or not at all. */
export type BriefGiven = 'text' | 'file' | null;

/** Reads and extends an agent's command line. */
export type AgentCommand = {
  read(args: readonly string[]): Conversation;
  /** The folder it is told to work in, if any. */
  folder(args: readonly string[]): string | null;
  /** The prompt, if it is certain which argument that is. */
  prompt(args: readonly string[]): string | null;
  /** Can the caller choose the id of a new conversation? */
  readonly takesNewId: boolean;
  add(
    args: readonly string[],
    addition: Addition,
  ): { readonly args: readonly string[]; readonly given: BriefGiven };
};

const commands: { readonly [N in AgentName]: AgentCommand } = { claude: claudeCommand, codex: codexCommand };

/** Identifies the agent by the name of its program; null if orch does not know it. */
export function identifyAgent([program = '']: readonly string[]): AgentName | null {
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, '');
  return name === 'claude' || name === 'codex' ? name : null;
}

/** Returns what reads and extends this agent's command line. */
export function commandOf(agent: AgentName): AgentCommand {
  return commands[agent];
}
