import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { questionFact } from '../../record/fact-builders.ts';
import { readView } from '../../record/view.ts';
import type { Destination } from '../../record/which/which-session.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { EpicId, Millis } from '../../types.ts';
import { recordTo } from '../calls.ts';
import { listUnheard, noteHeard } from '../messages.ts';

/* Questions without whose answer an agent cannot continue. */

/** Asks the user a question that the agent needs an answer to; returns its id. */
export async function askUser(
  orch: Orch,
  place: Destination,
  text: string,
  options: readonly string[],
): Promise<string> {
  const asked = options.length === 0 ? text : `${text} (${options.join(' / ')})`;
  const fact = questionFact(orch.random, asked, true);
  await recordTo(orch, place, [fact]);
  return fact.id;
}

/** Waits for the answer to a question; null if none came in time, or the signal came first. */
export async function waitForAnswer(
  orch: Orch,
  epic: EpicId,
  id: string,
  { signal, limit }: { readonly signal: AbortSignal; readonly limit: Millis | null },
): Promise<string | null> {
  const began = orch.clock.elapsed();
  while (!signal.aborted) {
    const { state } = await readView(orch, epic);
    const question = lookUp(state.questions, id)?.value;
    if (question?.resolvedAt != null) {
      // The agent that waited for it has heard it; it is not told again.
      const told = listUnheard(orch.home, epic).filter(({ answers }) => answers === id);
      await noteHeard(orch, epic, told);
      return question.answer ?? '';
    }
    if (limit !== null && orch.clock.elapsed() - began >= limit) return null;
    await sleepUnlessAborted(lookEvery, signal);
  }
  return null;
}

const lookEvery: Millis = 500;
