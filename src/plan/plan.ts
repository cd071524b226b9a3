import type { Json, Millis } from '../types.ts';
import type { ConvoyPlan, ConvoyTask } from './convoy-plan.ts';

/** A line for the shell, or a program with its arguments, started without a shell. */
export type Command =
  | { readonly kind: 'shell'; readonly line: string }
  | { readonly kind: 'program'; readonly argv: readonly [string, ...string[]] };

export type Request = {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  /** Text is sent as it is, anything else as JSON; null sends no body. */
  readonly body: unknown;
};

/** How an effect is done. Programs that use the library can pass a function; a plan's file cannot. */
export type Action =
  | { readonly kind: 'command'; readonly run: Command }
  | { readonly kind: 'request'; readonly request: Request }
  | {
      readonly kind: 'function';
      /** What it sends; omitted to mean what was planned before. */
      readonly content?: Json;
      readonly perform: (key: string, content: Json) => Promise<void>;
    };

/** Tells whether an effect was already done: a command that exits 0, or a function that returns true. */
export type Check =
  | { readonly kind: 'command'; readonly run: Command }
  | { readonly kind: 'function'; readonly isDone: (key: string, content: Json) => Promise<boolean> };

/** Something a task does to the outside world, planned durably beforehand and done once. */
export type Effect = {
  readonly id: string;
  readonly action: Action;
  readonly check: Check | null;
  /** Of the effect as written, to notice changes. */
  readonly digest: string;
};

export type Retry = { readonly attempts: number; readonly backoff: Millis };

/** A task runs after the tasks it needs, if they ended as `when` requires. */
export type Task = {
  readonly id: string;
  /** Its position in the file, from 1. */
  readonly number: number;
  readonly name: string;
  /** Null for a task that only has effects. */
  readonly run: Command | null;
  readonly needs: readonly string[];
  /** It declares no needs, so it waits for the task before it. */
  readonly isInOrder: boolean;
  readonly when: 'success' | 'failure' | 'always';
  /** Globs. Tasks that share files do not run together; a task without files may run beside any other. */
  readonly files: readonly string[];
  readonly retry: Retry;
  /** For its effects: three attempts by default. */
  readonly effectRetry: Retry;
  readonly timeout: Millis | null;
  readonly env: { readonly [name: string]: string };
  readonly artifacts: readonly string[];
  readonly effects: readonly Effect[];
  /** What an agent does, if that is how the task is done. */
  readonly convoy: ConvoyTask;
  /** Of the task as written. */
  readonly digest: string;
};

export type Plan = {
  readonly name: string;
  readonly tasks: readonly Task[];
  readonly convoy: ConvoyPlan;
  /** Of the whole plan; a run's record is bound to it. */
  readonly digest: string;
};
