import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import type { Decision, Request, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';
import {
  type BriefSubject,
  type Gathered,
  type Keyed,
  nameSession,
  sayAside,
  sayFirst,
  sayOnce,
  sortNewest,
} from './items.ts';
import { formatMoment, plainText, sayEnds } from './text.ts';

/** All that the user said and is still known, oldest first: the first requests are known for good. */
function listSaid({ requests, goals }: State): Keyed<Request>[] {
  return sortNewest({ ...goals, ...requests }).reverse();
}

/** What the work is for: the first request that says something. */
function findGoal(state: State): Keyed<Request> | null {
  const asked = listSaid(state).filter(({ value }) => value.kind === 'request');
  return asked.find(({ key }) => lookUp(state.goals, key)) ?? asked[0] ?? null;
}

/** In full as far as that is possible: constraints are often in the last sentence. */
export function gatherGoal({ state }: BriefSubject, maxBytes = 1_600): Gathered {
  const goal = findGoal(state);
  if (goal === null) return gatherLastAsked(state, maxBytes);
  const text = sayEnds(goal.value.text, maxBytes);
  return sayOnce(text && `${text}${sayAside([nameSession(state, goal.value.session)])}`, goal.stamp[1]);
}

/** Of a history in which only the last request was kept. */
function gatherLastAsked(state: State, maxBytes: number): Gathered {
  const text = sayEnds(readCurrent(state, 'asked')?.text ?? '', maxBytes);
  return sayOnce(text, lookUp(state.current, 'asked')?.stamp[1]);
}

/** How much is shown of a request: less the older it is. */
const requestBytes = [600, 320, 240];

/** What was asked for after that, oldest first. */
export function gatherAsked({ state }: BriefSubject): Gathered {
  const goal = findGoal(state);
  const later = listSaid(state).filter(({ key, value }) => value.kind === 'request' && key !== goal?.key);
  const { items, leftOut } = sayFirst(later.reverse(), 8, ({ value }, place) => {
    const text = sayEnds(value.text, requestBytes[place] ?? 160);
    return text && `${text}${sayAside([nameSession(state, value.session)])}`;
  });
  return { items: items.toReversed(), leftOut };
}

/** What was decided, oldest first: by the user, who may have said no more than yes, or by the agent. */
export function gatherDecided({ state }: BriefSubject): Gathered {
  const replies = listSaid(state).filter(({ value }) => value.kind === 'reply');
  const decided = new Map<string, () => string>();
  for (const { key, value } of sortNewest(state.decisions)) decided.set(key, () => sayDecision(state, value));
  for (const { key, value } of replies) decided.set(key, () => sayReply(state, value));
  const all = sortNewest<Decision | Request>({
    ...state.decisions,
    ...Object.fromEntries(replies.map((reply) => [reply.key, reply])),
  });
  const { items, leftOut } = sayFirst(all, 12, ({ key }) => decided.get(key)?.() ?? '');
  return { items: items.toReversed(), leftOut };
}

function sayDecision(state: State, { text, rationale, session, by }: Decision): string {
  const what = plainText(text, 240);
  const why = rationale === null ? '' : plainText(rationale, 200);
  return what && `${what}${sayAside([by ?? null, nameSession(state, session)], why)}`;
}

function sayReply(state: State, { text, to, session }: Request): string {
  const question = to === null ? '' : `“${plainText(to, 200)}” `;
  const answer = sayEnds(text, 240);
  return answer && `${question}“${answer}”${sayAside(['user', nameSession(state, session)])}`;
}

/** The plan that the user approved last; what was done of it stands elsewhere. */
export function gatherApproved({ state }: BriefSubject): Gathered {
  const text = sayEnds(readCurrent(state, 'approvedPlan')?.text ?? '', 500);
  return sayOnce(text, lookUp(state.current, 'approvedPlan')?.stamp[1]);
}

/** Was it only asked something, without any work to follow? */
function asksOnly(state: State, session: SessionId): boolean {
  const said = listSaid(state).filter(({ value }) => value.session === session);
  const isChanging = Object.values(state.files).some(
    ({ value }) => value.session === session && value.change !== 'read',
  );
  return said.length > 0 && said.every(({ value }) => value.kind === 'question') && !isChanging;
}

/** What was said at the end of each of the last sessions; the newest first, and most of it. */
export function gatherMessages({ state }: BriefSubject): Gathered {
  const messages = sortNewest(state.messages).filter(({ value }) => !asksOnly(state, value.session));
  if (messages.length === 0) return gatherLastMessage(state);
  const { items } = sayFirst(messages, 4, ({ value }, place) => {
    const text = sayEnds(value.text, [900, 600, 300][place] ?? 200);
    const name = nameSession(state, value.session);
    return text && `${name === null ? '' : `${name}: `}${text}`;
  });
  return { items, leftOut: 0 }; // what an old session said last is not missing
}

function gatherLastMessage(state: State): Gathered {
  const text = sayEnds(readCurrent(state, 'lastMessage')?.text ?? '', 700);
  const [at, by] = lookUp(state.current, 'lastMessage')?.stamp ?? [];
  return sayOnce(text && at !== undefined ? `${text} (${formatMoment(at, state.clock)})` : null, by);
}

/** Small questions since the last real request, with their answers. */
export function gatherQuestions({ state }: BriefSubject): Gathered {
  const said = listSaid(state);
  const last = said.findLastIndex(({ value }) => value.kind === 'request');
  const questions = said.slice(last + 1).filter(({ value }) => value.kind === 'question');
  const { items } = sayFirst(questions.reverse(), 2, ({ value }) => {
    const answer = asksOnly(state, value.session) ? lookUp(state.messages, value.session)?.value.text : null;
    const reply = answer ? ` ${sayEnds(answer, 160)}` : '';
    const name = nameSession(state, value.session);
    return `${name === null ? '' : `${name}, `}a question only: “${plainText(value.text, 160)}”${reply}`;
  });
  return { items: items.toReversed(), leftOut: 0 };
}
