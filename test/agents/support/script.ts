/** What a model was asked: the parts of a request's body that the tests look at, and the whole of it. */
export type Asked = {
  readonly path: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  // biome-ignore lint/suspicious/noExplicitAny: the agents' requests have no shape of ours; tests look into them.
  readonly body: any;
};

export type ToolUse = {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  /** The group it is in: Codex names an MCP server's tools so. */
  readonly namespace?: string;
};

type Common = {
  /** Which request takes this turn; without it, the next one of the conversation. */
  readonly when?: (asked: Asked) => boolean;
  /** The answer waits for this. */
  readonly after?: Promise<unknown>;
};

export type Answer<Usage> = Common & {
  readonly text?: string;
  /** The text, where it depends on what was asked. */
  readonly textFor?: (asked: Asked) => string;
  readonly tools?: readonly ToolUse[];
  readonly usage?: Partial<Usage>;
};

export type Refusal = Common & {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly headers?: Record<string, string>;
};

export type Turn<Usage> = Answer<Usage> | Refusal;

/** The turns of a test, handed out one by one: each to the first request it fits. */
export function makeScript<Usage>(turns: readonly Turn<Usage>[]) {
  const left = [...turns];
  return {
    /** The turn for a request, or null where the script has none for it. */
    take(asked: Asked, isConversation: boolean): Turn<Usage> | null {
      const at = left.findIndex((turn) => (turn.when ? turn.when(asked) : isConversation));
      const turn = at < 0 ? null : (left.splice(at, 1)[0] ?? null);
      return turn && 'textFor' in turn && turn.textFor ? { ...turn, text: turn.textFor(asked) } : turn;
    },
    add: (...more: Turn<Usage>[]) => void left.push(...more),
    left: () => left.length,
  };
}

/** What the tool that writes a file is told. */
export function writeTool(folder: string, name: string, content: string): ToolUse {
  return { tool: 'Write', input: { file_path: `${folder}/${name}`, content } };
}

/** What the tool that runs a command is told. */
export function bashTool(command: string): ToolUse {
  return { tool: 'Bash', input: { command, description: 'a command' } };
}

/** A command that runs until its folder is taken away: an agent that is killed leaves its commands behind. */
export const runUntilCleanUp = 'touch started; while [ -e started ]; do sleep 0.1; done';
