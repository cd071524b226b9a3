import {
  type ContextWindow,
  type EpicView,
  type Orch,
  readEpicView,
  type SessionCondition,
} from '../../index.ts';
import { chooseEpic } from '../choose.ts';
import type { Colour, Output } from '../output.ts';
import type { Context } from '../run-command.ts';

/** How each condition looks: a mark, a word, a colour. */
const looks: { readonly [C in SessionCondition]: readonly [mark: string, word: string, colour: Colour] } = {
  initializing: ['●', 'starting', 'green'],
  running: ['●', 'running', 'green'],
  paused: ['‖', 'paused', 'dim'],
  completed: ['✓', 'completed', 'green'],
  failed: ['✗', 'failed', 'red'],
  budget_exceeded: ['■', 'over budget', 'red'],
  interrupted: ['✗', 'interrupted', 'red'],
  elsewhere: ['○', 'running elsewhere', 'yellow'],
};

/** `● running` */
export function formatCondition(condition: SessionCondition): string {
  const [mark, word] = looks[condition];
  return `${mark} ${word}`;
}

export function paintCondition({ paint }: Output, condition: SessionCondition, text: string): string {
  return paint(looks[condition][2], text);
}

const windowSources: { readonly [S in ContextWindow['source']]: string } = {
  config: 'from the config',
  agent: 'reported by the agent',
  model: "from the model's name",
  default: 'assumed',
};

/** `CRITICAL 82% of 200000 tokens (assumed), after a compaction` */
export function showContext({ tier, fill, window, source, madeRoom }: ContextWindow): string {
  const after = madeRoom === null ? '' : `, after a ${madeRoom}`;
  return `${tier} ${Math.floor(fill * 100)}% of ${window} tokens (${windowSources[source]})${after}`;
}

/** Reads everything known about the epic a command is about. */
export async function viewEpic(context: Context, orch: Orch, given: string | undefined): Promise<EpicView> {
  return readEpicView(orch, await chooseEpic(context, orch, given, false));
}
