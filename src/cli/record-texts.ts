import type { Orch } from '../orch.ts';
import * as facts from '../session/facts.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, SessionId } from '../types.ts';
import { type Call, type CommandSpec, type OptionSpec, textOf } from './spec.ts';

type Situation = { readonly orch: Orch; readonly call: Call; readonly text: string } & {
  /** All that is known of the epic; read only where it is needed. */
  readState(): Promise<State>;
  readonly session: SessionId | null;
  readonly epic: EpicId;
  readonly byAgent: boolean;
  /** The folder it was typed in. */
  readonly cwd: string;
};

/** A kind of thing that can be recorded. */
export type Kind = Pick<CommandSpec, 'name' | 'description' | 'examples'> & {
  readonly argument: NonNullable<CommandSpec['argument']>;
  readonly options?: readonly OptionSpec[];
  makeFacts(situation: Situation): Fact | readonly Fact[] | Promise<Fact | readonly Fact[]>;
};

/** What there is to say, in as many words as it takes. */
export const textArgument = {
  name: 'text',
  required: true,
  several: true,
  description: 'what there is to say',
} as const;

/** What is recorded in words. */
export const textKinds: readonly Kind[] = [
  {
    name: 'note',
    description: 'Record something worth knowing.',
    argument: textArgument,
    examples: ['orch record note "The redirect loops in middleware"'],
    makeFacts: ({ orch, text }) => facts.noteFact(orch.random, text),
  },
  {
    name: 'decision',
    description: 'Record a decision, and why it was made.',
    argument: textArgument,
    options: [{ flags: '--rationale <text>', description: 'why' }],
    examples: ['orch record decision "Server sessions, not JWT" --rationale "Revocation"'],
    makeFacts: ({ orch, call, text }) =>
      facts.decisionFact(orch.random, text, textOf(call, 'rationale') ?? null),
  },
  {
    name: 'blocker',
    description: 'Record what stands in the way, or that it no longer does.',
    argument: {
      ...textArgument,
      description: 'what stands in the way; with --resolve: its id or a piece of its text',
    },
    options: [{ flags: '--resolve', description: 'it no longer stands in the way' }],
    examples: [
      'orch record blocker "No access to the staging database"',
      'orch record blocker staging --resolve',
    ],
    makeFacts: async ({ orch, call, text, readState }) =>
      call.options.resolve
        ? facts.resolvedFact(await readState(), text, orch.clock.now())
        : facts.blockerFact(orch.random, text),
  },
  {
    name: 'tried',
    description: 'Record what was tried and did not work.',
    argument: textArgument,
    options: [{ flags: '--why <text>', description: 'why it failed' }],
    examples: ['orch record tried "Redirect in middleware" --why "It loops"'],
    makeFacts: ({ orch, call, text }) => facts.triedFact(orch.random, text, textOf(call, 'why') ?? null),
  },
  {
    name: 'question',
    description: 'Record a question to the user, or its answer. Work continues meanwhile.',
    argument: {
      ...textArgument,
      description: 'the question; with --answer: its id or a piece of its text',
    },
    options: [{ flags: '--answer <text>', description: 'what the user answered' }],
    examples: [
      'orch record question "Round half up, or to even?"',
      'orch record question round --answer "Half up"',
    ],
    makeFacts: async ({ orch, call, text, readState, byAgent }) => {
      const answer = textOf(call, 'answer');
      return answer === undefined
        ? facts.questionFact(orch.random, text)
        : facts.answerFacts(orch.random, await readState(), text, answer, {
            at: orch.clock.now(),
            byAgent,
          });
    },
  },
];
