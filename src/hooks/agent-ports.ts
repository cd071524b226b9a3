import type { Config } from '../config/load.ts';
import type { Repository } from '../git/repository.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import type { ResolvePorts } from '../record/which/which-epic.ts';
import type { Oid, SessionId } from '../types.ts';

export type AgentPorts = Omit<ResolvePorts, 'readConfig'> & {
  readonly repository: Repository;
  readonly readConfig: () => Promise<Config>;
  readonly readSettings: () => Promise<SessionSettings>;
  /** The tree of the current files; null if it cannot be read. */
  readonly readTree: (maxFileBytes: number) => Promise<Oid | null>;
};

/** Which process made a hook call, and the session and epic its environment names. */
export type HookContext = {
  /** The session of the supervisor that started the agent, if one did. */
  readonly session: SessionId | undefined;
  readonly epic: string | undefined;
  readonly agentPid: number;
};

/** What a hook answers an agent. */
export type AgentAnswer = {
  /** For the agent's context. */
  readonly context: string | null;
  /** For the user. */
  readonly message: string | null;
  /** Why the agent must stop; null while it may work. */
  readonly halt: string | null;
};

export const emptyAnswer: AgentAnswer = { context: null, message: null, halt: null };
