import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import type { Decision, Request, State } from '../../state/lists.ts';
import type { SessionId } from '../../types.ts';
import {
  type BriefSubject,
  formatAside,
  formatFirst,
  type Gathered,
  type KeyedEntry,
  makeSingle,
  nameSession,
  sortNewest,
} from './brief-items.ts';
import { excerptText, formatUtcTime, plainText } from './brief-text.ts';

/** Everything the user said that is still known, oldest first; the first requests are kept for good. */
function listUserMessages({ requests, goals }: State): KeyedEntry<Request>[] {
  return sortNewest({ ...goals, ...requests }).reverse();
}

/** What the work is for: the first substantial request. */
function findGoal(state: State): KeyedEntry<Request> | null {
  const asked = listUserMessages(state).filter(({ value }) => value.kind === 'request');
  return asked.find(({ key }) => lookUp(state.goals, key)) ?? asked[0] ?? null;
}

/** In full if possible: constraints are often in the last sentence. */
export function gatherGoal({ state }: BriefSubject, maxBytes = 1_600): Gathered {
  const goal = findGoal(state);
  if (goal === null) return gatherLastAsked(state, maxBytes);
  const text = excerptText(goal.value.text, maxBytes);
  return makeSingle(text && `${text}${formatAside([nameSession(state, goal.value.session)])}`, goal.stamp[1]);
}

/** For histories that kept only the last request. */
function gatherLastAsked(state: State, maxBytes: number): Gathered {
  const text = excerptText(readCurrent(state, 'asked')?.text ?? '', maxBytes);
  return makeSingle(text, lookUp(state.current, 'asked')?.stamp[1]);
}

/** How much of a request is shown: less, the older it is. */
const requestBytes = [600, 320, 240];

/** The later requests, oldest first. */
export function gatherAsked({ state }: BriefSubject): Gathered {
  const goal = findGoal(state);
  const later = listUserMessages(state).filter(
    ({ key, value }) => value.kind === 'request' && key !== goal?.key,
  );
  const { items, leftOut } = formatFirst(later.reverse(), 8, ({ value }, place) => {
    const text = excerptText(value.text, requestBytes[place] ?? 160);
    return text && `${text}${formatAside([nameSession(state, value.session)])}`;
  });
  return { items: items.toReversed(), leftOut };
}

/** Decisions, oldest first: by the user, who may have said no more than yes, or by the agent. */
export function gatherDecided({ state }: BriefSubject): Gathered {
  const replies = listUserMessages(state).filter(({ value }) => value.kind === 'reply');
  const decided = new Map<string, () => string>();
  for (const { key, value } of sortNewest(state.decisions))
    decided.set(key, () => describeDecision(state, value));
  for (const { key, value } of replies) decided.set(key, () => describeReply(state, value));
  const all = sortNewest<Decision | Request>({
    ...state.decisions,
    ...Object.fromEntries(replies.map((reply) => [reply.key, reply])),
  });
  const { items, leftOut } = formatFirst(all, 12, ({ key }) => decided.get(key)?.() ?? '');
  return { items: items.toReversed(), leftOut };
}

function describeDecision(state: State, { text, rationale, session, by }: Decision): string {
  const what = plainText(text, 240);
  const why = rationale === null ? '' : plainText(rationale, 200);
  return what && `${what}${formatAside([by ?? null, nameSession(state, session)], why)}`;
}

function describeReply(state: State, { text, to, session }: Request): string {
  const question = to === null ? '' : `“${plainText(to, 200)}” `;
  const answer = excerptText(text, 240);
  return answer && `${question}“${answer}”${formatAside(['user', nameSession(state, session)])}`;
}

/** The plan the user approved last; other sections say what was done. */
export function gatherApproved({ state }: BriefSubject): Gathered {
  const text = excerptText(readCurrent(state, 'approvedPlan')?.text ?? '', 500);
  return makeSingle(text, lookUp(state.current, 'approvedPlan')?.stamp[1]);
}

/** Did the session only answer questions, without any work? */
function asksOnly(state: State, session: SessionId): boolean {
  const said = listUserMessages(state).filter(({ value }) => value.session === session);
  const isChanging = Object.values(state.files).some(
    ({ value }) => value.session === session && value.change !== 'read',
  );
  return said.length > 0 && said.every(({ value }) => value.kind === 'question') && !isChanging;
}

/** The last message of each recent session, newest first; the newest is longest. */
export function gatherMessages({ state }: BriefSubject): Gathered {
  const messages = sortNewest(state.messages).filter(({ value }) => !asksOnly(state, value.session));
  if (messages.length === 0) return gatherLastMessage(state);
  const { items } = formatFirst(messages, 4, ({ value }, place) => {
    const text = excerptText(value.text, [900, 600, 300][place] ?? 200);
    const name = nameSession(state, value.session);
    return text && `${name === null ? '' : `${name}: `}${text}`;
  });
  return { items, leftOut: 0 }; // the last message of an old session is not missed
}

function gatherLastMessage(state: State): Gathered {
  const text = excerptText(readCurrent(state, 'lastMessage')?.text ?? '', 700);
  const [at, by] = lookUp(state.current, 'lastMessage')?.stamp ?? [];
  return makeSingle(text && at !== undefined ? `${text} (${formatUtcTime(at, state.clock)})` : null, by);
}

/** Side questions since the last real request, with their answers. */
export function gatherQuestions({ state }: BriefSubject): Gathered {
  const said = listUserMessages(state);
  const last = said.findLastIndex(({ value }) => value.kind === 'request');
  const questions = said.slice(last + 1).filter(({ value }) => value.kind === 'question');
  const { items } = formatFirst(questions.reverse(), 2, ({ value }) => {
    const answer = asksOnly(state, value.session) ? lookUp(state.messages, value.session)?.value.text : null;
    const reply = answer ? ` ${excerptText(answer, 160)}` : '';
    const name = nameSession(state, value.session);
    return `${name === null ? '' : `${name}, `}a question only: “${plainText(value.text, 160)}”${reply}`;
  });
  return { items: items.toReversed(), leftOut: 0 };
}
