import { OrchError } from '../errors.ts';
import type { EffectRecord } from '../state/run.ts';
import { readPlanned } from './payload.ts';
import type { Deed, Effect } from './types.ts';

/**
 * What the user says of an effect that is not acknowledged: do it as the plan has it now, do it as it was planned, or
 * count it as done.
 */
export type EffectChoice = 'replan' | 'as_planned' | 'done';

/** The choices for a run, by the effects' ids. */
export function chooseEffects(given: { readonly [C in EffectChoice]: readonly string[] }) {
  const { replan, as_planned, done } = given;
  const all = [...replan, ...as_planned, ...done];
  const twice = all.find((id, index) => all.indexOf(id) !== index);
  if (twice !== undefined)
    throw new OrchError('USAGE', `two things are to become of effect ${twice.slice(0, 80)}`, {
      hint: 'Choose one: as it is now, as it was planned, or done',
    });
  return new Map<string, EffectChoice>([
    ...replan.map((id) => [id, 'replan'] as const),
    ...as_planned.map((id) => [id, 'as_planned'] as const),
    ...done.map((id) => [id, 'done'] as const),
  ]);
}

export type KnownEffect = Pick<
  EffectRecord,
  'task' | 'key' | 'status' | 'reason' | 'digest' | 'what' | 'content' | 'tried'
>;

export type Around = {
  readonly choice: EffectChoice | null;
  /** Was it another clone's? */
  readonly isElsewhere: boolean;
  /** Did this clone plan it? */
  readonly isOwn: (content: string) => boolean;
};

/** What becomes of an effect that was planned before. */
export type Again =
  | { readonly kind: 'done'; readonly change: string | null }
  /** It is planned anew, under a new key. */
  | { readonly kind: 'new'; readonly tried: 'no' | 'here'; readonly change: string }
  /** It is sent as it was planned, under the same key. */
  | { readonly kind: 'same'; readonly effect: Effect; readonly tried: EffectRecord['tried'] }
  /** It is not tried before the user has chosen. */
  | { readonly kind: 'hold'; readonly why: string; readonly tried: EffectRecord['tried'] };

/**
 * Decides what becomes of an effect that was planned before. One that may have been tried, and is different now, waits
 * for the user: sent as it is now it may be done twice, sent as it was it may not be what is wanted.
 */
export function planAgain(effect: Effect, known: KnownEffect, { choice, isElsewhere, isOwn }: Around): Again {
  const { id, deed } = effect;
  const isSame = known.digest === effect.digest;
  const isLeftOpen = deed.kind === 'function' && deed.content === undefined;
  if (known.status === 'acknowledged') {
    const isChanged = !isSame && !isLeftOpen;
    return {
      kind: 'done',
      change: isChanged ? `effect ${id} was changed after it was done: it is not done again` : null,
    };
  }
  if (choice === 'done') return { kind: 'done', change: `effect ${id} counts as done because you say so` };
  const before = isElsewhere ? 'elsewhere' : (known.tried ?? 'here');
  // Whoever chooses has looked.
  const tried = before === 'elsewhere' && choice !== null ? 'here' : before;
  if (!isSame && !isLeftOpen) {
    if (before === 'no')
      return {
        kind: 'new',
        tried: 'no',
        change: `effect ${id} was changed before it was tried: it is sent as it is now`,
      };
    if (choice === 'replan')
      return { kind: 'new', tried: 'here', change: `effect ${id} is sent as it is now, under a new key` };
    if (choice === null) return { kind: 'hold', why: askWhich(effect, known), tried };
  }
  // A program that takes a run over says by that whose plans it trusts; it does with them what it would do anyway.
  const isTrusted = (content: string) => isOwn(content) || (isElsewhere && deed.kind === 'function');
  const planned = isSame ? effect : readPlanned(effect, known, isTrusted);
  if (typeof planned === 'string') return { kind: 'hold', why: `${planned}. ${sayHow(effect)}`, tried };
  if (tried === 'elsewhere' && effect.check === null && deed.kind !== 'request')
    return { kind: 'hold', why: askWhether(effect), tried };
  return { kind: 'same', effect: planned, tried };
}

function askWhich(effect: Effect, { digest }: KnownEffect): string {
  const now = `it was tried as ${digest}, and is ${effect.digest} now. `;
  const [replan, planned, done] = namesOf(effect);
  return `${now}Send it as it is now: ${replan}. Send it as it was planned: ${planned}. If it was done: ${done}`;
}

function askWhether(effect: Effect): string {
  const [replan, , done] = namesOf(effect);
  return `another clone may have done it, and it has no check that could tell. If it was done: ${done}. If not: ${replan}`;
}

/** What was planned cannot be sent from what was kept. */
function sayHow(effect: Effect): string {
  const [replan, , done] = namesOf(effect);
  const back = effect.deed.kind === 'function' ? 'give its content again' : 'put the plan back as it was';
  return `To send it as it was planned, ${back}. Send it as it is now: ${replan}. If it was done: ${done}`;
}

/** How each choice is made: by an option of the command, or of the library's function. */
function namesOf({ id, deed }: { readonly id: string; readonly deed: Deed }) {
  return deed.kind === 'function'
    ? ([`replan: ['${id}']`, `asPlanned: ['${id}']`, `done: ['${id}']`] as const)
    : ([`--replan ${id}`, `--as-planned ${id}`, `--done ${id}`] as const);
}
