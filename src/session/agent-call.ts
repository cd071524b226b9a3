import type { Config } from '../config.ts';
import type { SessionId } from '../types.ts';
import type { DiskPorts } from './disk-check.ts';
import type { ResolvePorts } from './resolve.ts';

export type AgentPorts = Omit<ResolvePorts, 'readConfig'> &
  DiskPorts & { readonly readConfig: () => Promise<Config> };

/** Where an agent's call comes from. */
export type Around = {
  /** The session of the supervisor that started the agent. */
  readonly session: SessionId | undefined;
  readonly epic: string | undefined;
  readonly agentPid: number;
};

/** What an agent, and its user, are told. */
export type AgentAnswer = {
  /** For the agent to know. */
  readonly context: string | null;
  /** For the user to see. */
  readonly message: string | null;
  /** Why it must not go on. */
  readonly halt: string | null;
};

export const nothingToSay: AgentAnswer = { context: null, message: null, halt: null };
