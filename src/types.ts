declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A line of work: one ref, one budget, many sessions. Made by `parseEpicId`. */
export type EpicId = Brand<string, 'EpicId'>;
/** `sess-7hq2m4`. Made by `parseSessionId`. */
export type SessionId = Brand<string, 'SessionId'>;
/** A clone on a machine. Made by `parseWriterId`. */
export type WriterId = Brand<string, 'WriterId'>;
/** `ckpt-00000058-k3f9qz`. Made by `parseCheckpointId`. */
export type CheckpointId = Brand<string, 'CheckpointId'>;
/** The id of a git object, 40 or 64 hexadecimal digits. Made by `parseOid`. */
export type Oid = Brand<string, 'Oid'>;
/** An agent's own id for a conversation, a UUID. Made by `readAgentSession`. */
export type AgentSessionId = Brand<string, 'AgentSessionId'>;

/** Milliseconds since 1970. */
export type Millis = number;
/** Whole millionths of a dollar, so that money is never a fraction. */
export type Micros = number;

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Why a checkpoint was made. */
export const triggers = [
  'session_start',
  'interval',
  'cost',
  'budget',
  'error',
  'issue_complete',
  'task',
  'batch',
  'context_tier',
  'pre_compact',
  'pause',
  'complete',
  'manual',
  'recovery',
  'merge',
] as const;
export type Trigger = (typeof triggers)[number];

/** What the gates said about exactly the code in a checkpoint. */
export type GateColour = 'green' | 'red' | 'unknown';

/** The recorded status of a session. */
export const statuses = [
  'initializing',
  'running',
  'paused',
  'completed',
  'failed',
  'budget_exceeded',
] as const;
export type Status = (typeof statuses)[number];
