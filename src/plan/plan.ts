import type { Json, Millis } from '../types.ts';
import type { Condition } from './condition.ts';
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
  /** What takes it back in a rollback. */
  readonly undo?: Undo;
  /** Of the effect as written, to notice changes. */
  readonly digest: string;
};

/** What takes a task's work back, or an effect. */
export type Undo = Pick<Effect, 'action' | 'check'>;

export type Retry = { readonly attempts: number; readonly backoff: Millis };

/** Repeats a task or a group, at most `attempts` times in all. */
export type Repeat = Retry & { readonly until: 'success' | Condition };

/** When a task runs: depending on whether anything before it failed, or on a condition. */
export type When = 'success' | 'failure' | 'always' | Condition;

/** What a task stands for that has no command of its own. It ends when its parts have ended, and needs all of them. */
export type Parts = {
  /** What it needs before its parts begin. */
  readonly entry: readonly string[];
  /** For a task that is done for each item of a list; null for a group, whose tasks are in the plan. */
  readonly each: Each | null;
};

export type Each = {
  /** The value that has the list once the tasks before it have ended; null for a list in the plan. */
  readonly value: string | null;
  /** What is done for each item. */
  readonly template: Task;
};

/** A task runs after the tasks it needs, if they ended as `when` requires. */
export type Task = {
  readonly id: string;
  /** Its position in the file, from 1. */
  readonly number: number;
  readonly name: string;
  /** Null for a task that only has effects, or has parts. */
  readonly run: Command | null;
  readonly parts: Parts | null;
  /** The group it belongs to, or the task that it is one item of. */
  readonly parent: string | null;
  readonly needs: readonly string[];
  /** It declares no needs, so it waits for the task before it. */
  readonly isInOrder: boolean;
  readonly when: When;
  /** Globs. Tasks that share files do not run together; a task without files may run beside any other. */
  readonly files: readonly string[];
  readonly retry: Retry;
  readonly repeat: Repeat | null;
  /** Its failure neither fails the run nor skips the tasks that need it. */
  readonly mayFail: boolean;
  readonly undo: Undo | null;
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
  /** Each part comes before the task it is part of. */
  readonly tasks: readonly Task[];
  /** How many tasks are written in it; a task for each item of a list counts once. */
  readonly length: number;
  /** What follows if the run fails. */
  readonly onFailure: 'stop' | 'rollback';
  readonly convoy: ConvoyPlan;
  /** Of the whole plan; a run's record is bound to it. */
  readonly digest: string;
};
