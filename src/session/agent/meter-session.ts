import { findTranscripts } from '../../agents/transcript/transcript.ts';
import { meterTranscripts } from '../../agents/transcript/transcript-meter.ts';
import { addUsage, meterName, noUsage, subtractUsage, type Usage } from '../../cost/ledger.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { canonicalJson } from '../../state/canonical.ts';
import { readCurrent } from '../../state/current.ts';
import type { Fact } from '../../state/facts.ts';
import type { State } from '../../state/lists.ts';
import { statIfThere } from '../../system/disk.ts';
import type { SessionId } from '../../types.ts';
import { type AgentLink, meterCache, writeLink } from './agent-link.ts';

/** Reads what a session's agents used according to their transcripts, as far as it is not recorded yet. */
export async function readMeters(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
): Promise<(Fact & { kind: 'meter' })[]> {
  const { facts } = await meterSession(ports, link, state, link.transcripts);
  return facts.filter(isNews(state, link.session));
}

/** Reads the meters of a session from transcripts, of which only new lines are parsed. */
export async function meterSession(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
  transcripts: readonly string[],
) {
  return meterTranscripts(ports, {
    cache: meterCache(ports.home, link.session),
    paths: transcripts.flatMap(findTranscripts),
    begins: Object.fromEntries(
      Object.entries(link.begins ?? {}).flatMap(([path, at]) =>
        findTranscripts(path).map((file) => [file, at]),
      ),
    ),
    prices: (await ports.readPrices?.()) ?? {},
    recorded: metersOf(state, link.session),
    before: link.before,
    figure: link.figure ?? null,
    isFollowed: true,
  });
}

/** An agent's conversation, by the agent's id for it, and its transcript. */
export type AgentConversation = {
  readonly session: string;
  readonly transcript: string | null;
  /** Does the whole transcript belong to this session, or only what is added from now on? */
  readonly isNew: boolean;
};

/** Adds a conversation to a session. The session's meters cover all of its conversations, each message counted once. */
export async function joinConversation(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
  { session, transcript, isNew }: AgentConversation,
): Promise<AgentLink> {
  const isKnown = link.agentSessions.includes(session);
  const added = transcript === null || link.transcripts.includes(transcript) ? [] : [transcript];
  if (isKnown && added.length === 0) return link;
  const now = ports.clock.now();
  const joined: AgentLink = {
    ...link,
    agentSessions: isKnown ? link.agentSessions : [...link.agentSessions, session],
    transcripts: [...link.transcripts, ...added],
    before: isNew ? link.before : await addEarlierUsage(ports, link, state, added),
    joined: { ...link.joined, ...Object.fromEntries(added.map((path) => [path, now])) },
    begins: { ...link.begins, ...Object.fromEntries(added.filter(isEmpty).map((path) => [path, now])) },
  };
  await writeLink(ports, joined);
  return joined;
}

/** A new file may begin with older messages: a fork starts with its parent's conversation. */
const isEmpty = (path: string): boolean => !statIfThere(path)?.size;

/** Usage that only the added transcripts contain is from before this session. */
async function addEarlierUsage(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
  added: readonly string[],
): Promise<Keyed<Usage>> {
  const { meters: without } = await meterSession(ports, link, state, link.transcripts);
  const { meters: together } = await meterSession(ports, link, state, added);
  const there = Object.fromEntries(
    Object.entries(together).map(([model, usage]) => [
      model,
      subtractUsage(usage, lookUp(without, model) ?? noUsage),
    ]),
  );
  return mergeKeyed(link.before, there, addUsage);
}

/** Lists what a session's meters read, by model. */
export function metersOf(state: State, session: SessionId): Keyed<Usage> {
  const prefix = meterName(session, '');
  const own = Object.values(state.ledger).flatMap(({ value }) =>
    Object.entries(value.meters).filter(([name]) => name.startsWith(prefix)),
  );
  return Object.fromEntries(own.map(([name, usage]) => [name.slice(prefix.length), usage]));
}

/** Makes a filter that drops meter facts which repeat what is recorded. */
export function isNews(state: State, session: SessionId): (fact: Fact) => boolean {
  const recorded = metersOf(state, session);
  return (fact) =>
    fact.kind !== 'meter' ||
    canonicalJson(fact.usage) !== canonicalJson(lookUp(recorded, fact.model) ?? null);
}

/** Enough to remember, as imported transcripts are recent ones. */
const mostMetered = 100;

/** Makes the fact that hooks count these conversations, so that an import skips their transcripts. */
export function meteredFacts(state: State, agentSessions: readonly string[]): Fact[] {
  const known = readCurrent(state, 'meteredAgents') ?? [];
  const fresh = agentSessions.filter((id) => !known.includes(id));
  if (fresh.length === 0) return [];
  return [{ kind: 'current_set', key: 'meteredAgents', value: [...known, ...fresh].slice(-mostMetered) }];
}
