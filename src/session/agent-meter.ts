import { addUsage, noUsage, subtractUsage, type Usage } from '../cost/ledger.ts';
import { findTranscripts } from '../integration/transcript.ts';
import { meterTranscripts } from '../integration/transcript-meter.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/files.ts';
import { type AgentLink, meterCache, writeLink } from './agent-link.ts';
import { isNews, metersOf } from './meters.ts';
import type { SessionPorts } from './record.ts';

/** What the transcripts of a session's agents say they used, as far as it is not recorded yet. */
export async function readMeters(
  ports: SessionPorts,
  link: AgentLink,
  state: State,
): Promise<(Fact & { kind: 'meter' })[]> {
  const { facts } = await meterSession(ports, link, state, link.transcripts);
  return facts.filter(isNews(state, link.session));
}

/** Reads the meters of a session from transcripts, as far as they grew. */
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

/** A conversation of an agent's, by its own name, and the file it is written to. */
export type AgentConversation = {
  readonly session: string;
  readonly transcript: string | null;
  /** Is all that its file holds of this session? Elsewise only what is added from now on. */
  readonly isNew: boolean;
};

/** Adds a conversation to those of a session. Its meters are of all of them together, each message counted once. */
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
    before: isNew ? link.before : await addWhatIsThere(ports, link, state, added),
    joined: { ...link.joined, ...Object.fromEntries(added.map((path) => [path, now])) },
    begins: { ...link.begins, ...Object.fromEntries(added.filter(isEmpty).map((path) => [path, now])) },
  };
  await writeLink(ports.disk, ports.home, ports.random, joined);
  return joined;
}

/** What comes to a file that is not there yet may be older than it: a fork's begins with what its parent was told. */
const isEmpty = (path: string): boolean => !statIfThere(path)?.size;

/** What the files to be added hold, and those before do not, was used before this session. */
async function addWhatIsThere(
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
