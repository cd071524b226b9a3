import { OrchError } from '../../errors.ts';
import type { EffectRecord } from '../../state/runs.ts';
import type { Effect } from '../plan.ts';
import { readPlanned } from './payload.ts';

/** What the user wants for an open effect: do it as it is in the plan now, do it as planned, or count it as done. */
export type EffectChoice = 'replan' | 'as_planned' | 'done';

/** Maps effect ids to the user's choices; refuses two choices for one effect. */
export function chooseEffects(given: { readonly [C in EffectChoice]: readonly string[] }) {
  const { replan, as_planned, done } = given;
  const all = [...replan, ...as_planned, ...done];
  const twice = all.find((id, index) => all.indexOf(id) !== index);
  if (twice !== undefined)
    throw new OrchError('USAGE', `effect ${twice.slice(0, 80)} is named twice`, {
      hint: 'Choose one: send it as it is now, send it as planned, or count it as done',
    });
  return new Map<string, EffectChoice>([
    ...replan.map((id) => [id, 'replan'] as const),
    ...as_planned.map((id) => [id, 'as_planned'] as const),
    ...done.map((id) => [id, 'done'] as const),
  ]);
}

export type KnownEffect = Pick<
  EffectRecord,
  'task' | 'key' | 'status' | 'reason' | 'digest' | 'what' | 'content' | 'tried' | 'turn'
>;

type ReplanContext = {
  readonly choice: EffectChoice | null;
  /** Whether another clone was working on it. */
  readonly isElsewhere: boolean;
  /** Whether this clone planned such a payload. */
  readonly isOwn: (content: string) => boolean;
};

/** What happens to an effect that was planned before. */
type ReplanDecision =
  | { readonly kind: 'done'; readonly change: string | null }
  /** It was done and undone, so it is done again, under a new key. */
  | { readonly kind: 'again'; readonly change: string }
  /** Planned anew, under a new key. */
  | { readonly kind: 'new'; readonly tried: 'no' | 'here'; readonly change: string }
  /** Sent as it was planned, under the same key. */
  | { readonly kind: 'same'; readonly effect: Effect; readonly tried: EffectRecord['tried'] }
  /** Not tried before the user makes a choice. */
  | { readonly kind: 'blocked'; readonly why: string; readonly tried: EffectRecord['tried'] };

/**
 * Decides what happens to an effect that was planned before. If it may have been tried and has changed since, the user
 * has to choose: sending it as it is now may do it twice, sending it as planned may not be what the user wants.
 */
export function decideReplan(
  effect: Effect,
  known: KnownEffect,
  { choice, isElsewhere, isOwn }: ReplanContext,
): ReplanDecision {
  const { id, action } = effect;
  const isSame = known.digest === effect.digest;
  const isContentOmitted = action.kind === 'function' && action.content === undefined;
  const isChanged = !isSame && !isContentOmitted;
  if (known.status === 'acknowledged')
    return {
      kind: 'done',
      change: isChanged ? `effect ${id} was changed after it was done: it is not done again` : null,
    };
  if (known.status === 'undone' || known.status === 'undoing')
    return { kind: 'again', change: `effect ${id} was undone, so it is done again` };
  if (choice === 'done') return { kind: 'done', change: `effect ${id} counts as done because you say so` };
  const before = isElsewhere ? 'elsewhere' : (known.tried ?? 'here');
  // By choosing, the user has dealt with what another clone may have done.
  const tried = before === 'elsewhere' && choice !== null ? 'here' : before;
  if (isChanged) {
    if (before === 'no')
      return {
        kind: 'new',
        tried: 'no',
        change: `effect ${id} was changed before it was tried: it is sent as it is now`,
      };
    if (choice === 'replan')
      return { kind: 'new', tried: 'here', change: `effect ${id} is sent as it is now, under a new key` };
    if (choice === null) return { kind: 'blocked', why: askAboutChange(effect, known), tried };
  }
  // A program that takes a run over trusts that clone's payloads, and only its own function sends them.
  const isTrusted = (content: string) => isOwn(content) || (isElsewhere && action.kind === 'function');
  const planned = isSame ? effect : readPlanned(effect, known, isTrusted);
  if (typeof planned === 'string')
    return { kind: 'blocked', why: `${planned}. ${explainUnreadable(effect)}`, tried };
  if (tried === 'elsewhere' && effect.check === null && action.kind !== 'request')
    return { kind: 'blocked', why: askAboutOtherClone(effect), tried };
  return { kind: 'same', effect: planned, tried };
}

function askAboutChange(effect: Effect, { digest }: KnownEffect): string {
  const { replan, asPlanned, done } = nameOptions(effect);
  return `it was tried as ${digest}, and is now ${effect.digest}. Send it as it is now: ${replan}. Send it as planned: ${asPlanned}. If it was done: ${done}`;
}

function askAboutOtherClone(effect: Effect): string {
  const { replan, done } = nameOptions(effect);
  return `another clone may have done it, and it has no check to find out. If it was done: ${done}. If not: ${replan}`;
}

function explainUnreadable(effect: Effect): string {
  const { replan, done } = nameOptions(effect);
  const restore =
    effect.action.kind === 'function' ? 'pass its content again' : 'change the plan back to what it was';
  return `To send it as planned, ${restore}. Send it as it is now: ${replan}. If it was done: ${done}`;
}

/** Names each choice as the user makes it: an option of the command, or of the library's function. */
function nameOptions({ id, action }: Effect) {
  return action.kind === 'function'
    ? { replan: `replan: ['${id}']`, asPlanned: `asPlanned: ['${id}']`, done: `done: ['${id}']` }
    : { replan: `--replan ${id}`, asPlanned: `--as-planned ${id}`, done: `--done ${id}` };
}
