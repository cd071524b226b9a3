import type { Json, Millis } from '../types.ts';

/** How a process is started: a line for the shell, or a program and its arguments without one. */
export type Command =
  | { readonly kind: 'shell'; readonly line: string }
  | { readonly kind: 'program'; readonly argv: readonly [string, ...string[]] };

export type Request = {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  /** Sent as it is when it is a text, else as JSON; null sends none. */
  readonly body: unknown;
};

/** How an effect is done. Programs that use the library hand over a function; a plan's file cannot. */
export type Deed =
  | { readonly kind: 'command'; readonly run: Command }
  | { readonly kind: 'request'; readonly request: Request }
  | {
      readonly kind: 'function';
      /** What it is to send; left out where what was planned before is meant. */
      readonly content?: Json;
      readonly perform: (key: string, content: Json) => Promise<void>;
    };

/** Whether an effect was done already: a command that exits 0, or a function that says so. */
export type Check =
  | { readonly kind: 'command'; readonly run: Command }
  | { readonly kind: 'function'; readonly isDone: (key: string, content: Json) => Promise<boolean> };

/** Something a task does to the outside world, planned durably before it is done, and done once. */
export type Effect = {
  readonly id: string;
  readonly deed: Deed;
  readonly check: Check | null;
  /** Of the effect as it was written, so that a changed one is noticed. */
  readonly digest: string;
};

export type Retry = { readonly attempts: number; readonly backoff: Millis };

/** A task depends on what it needs, and runs when that ended as `when` says. */
export type Task = {
  readonly id: string;
  /** Its place in the file, from 1. */
  readonly number: number;
  readonly name: string;
  /** Null where a task is only its effects. */
  readonly run: Command | null;
  readonly needs: readonly string[];
  /** It says nothing of what it needs, so it waits for the task before it. */
  readonly isInOrder: boolean;
  readonly when: 'success' | 'failure' | 'always';
  /** Globs. Tasks that share files do not run together; one that names none may run beside any. */
  readonly files: readonly string[];
  readonly retry: Retry;
  /** Of its effects: three attempts where nothing was said. */
  readonly effectRetry: Retry;
  readonly timeout: Millis | null;
  readonly env: { readonly [name: string]: string };
  readonly artifacts: readonly string[];
  readonly effects: readonly Effect[];
  /** Of the task as it was written. */
  readonly digest: string;
};

export type Plan = {
  readonly name: string;
  readonly tasks: readonly Task[];
  /** Of all of it: what a run's final record is bound to. */
  readonly digest: string;
};
