import type { Fact } from '../state/facts.ts';

/** What an agent waits for its user to say. */
export type WaitingFor = 'permission' | 'plan' | 'question' | 'input';

/** What an agent tells of itself, whichever agent it is. */
export type AgentEvent =
  /** `clear` and `compact` go on with the same work; the others begin it. */
  | {
      readonly kind: 'start';
      readonly source: 'startup' | 'resume' | 'clear' | 'compact';
      readonly model: string | null;
    }
  | { readonly kind: 'prompt'; readonly text: string }
  /** A tool was used; what that tells, and the mark by which the transcript tells it too. */
  | { readonly kind: 'tool'; readonly facts: readonly Fact[]; readonly mark: string | null }
  /** A tool is about to be used; by its mark, what the model said of it is found in the transcript. */
  | { readonly kind: 'before_tool'; readonly mark: string | null }
  | { readonly kind: 'before_compact' }
  | { readonly kind: 'after_compact'; readonly summary: string | null }
  /** A turn is over. */
  | { readonly kind: 'stop'; readonly lastMessage: string | null }
  /** A turn could not be finished: a limit, a network. It is no crash. */
  | { readonly kind: 'failure'; readonly error: string }
  | { readonly kind: 'end'; readonly reason: string | null }
  /** It asks its user, and does nothing until it has an answer. A reminder says less than what it asked before. */
  | {
      readonly kind: 'waiting';
      readonly for: WaitingFor;
      readonly detail: string | null;
      readonly isReminder: boolean;
    }
  /** An agent that it started itself is done. */
  | { readonly kind: 'helper_stop' }
  /** Something of a later version of the agent. */
  | { readonly kind: 'unknown'; readonly name: string };

/** A call of a hook. */
export type HookCall = {
  readonly agent: 'claude' | 'codex';
  /** The agent's own name for its session. */
  readonly agentSession: string;
  /** The file it writes its messages to. */
  readonly transcript: string | null;
  readonly cwd: string | null;
  /** The agent that this one started, where it is that one's call. */
  readonly helper: string | null;
  /** The agent's own name for the turn, where it has one (Codex). */
  readonly turn: string | null;
  readonly event: AgentEvent;
};
