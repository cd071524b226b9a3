import { join } from 'node:path';
import { epic as isEpic, oneOf, optional, text, time, withFields } from '../checks.ts';
import { nameFile } from '../ids.ts';
import type { SessionPorts } from '../record/ports.ts';
import { findDestination } from '../record/which/which-session.ts';
import type { Fact } from '../state/facts.ts';
import { listFolder, makeFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import type { EpicId, Millis } from '../types.ts';
import { recordTo } from './calls.ts';

/*
 * What people say to an agent while it works. The words are recorded in the epic like any request. What its agent has not
 * heard yet is kept here, in files of this machine, because only the agent here can hear it: a hook of Claude Code gives it
 * to the agent with the result of its next tool, or at the end of its turn; any other agent hears it in its next turn. It
 * stays until it is in the agent's transcript, so that a crash in between loses nothing.
 */

/** Something said that the agent has not heard yet. */
export type Message = {
  readonly id: string;
  readonly epic: EpicId;
  readonly text: string;
  readonly at: Millis;
  /** The question it answers. */
  readonly answers?: string;
  /** Who says it, if not the user. */
  readonly from?: 'orch';
};

const isMessage = withFields<Message>({
  id: text,
  epic: isEpic,
  text,
  at: time,
  answers: optional(text),
  from: optional(oneOf('orch')),
});

/** The folder in which the hooks of an epic's agent look for messages. */
export function messagesFolder(home: string, epic: EpicId): string {
  return join(home, 'messages', nameFile(epic));
}

const idInText = /\bm-[a-z0-9]{8}\b/g;

/** Records what was said, as a request or by `facts`, and keeps it until the agent has heard it. */
export async function sayTo(
  ports: SessionPorts & { readonly readSettings: () => Promise<Parameters<typeof findDestination>[2]> },
  epic: EpicId,
  said: string,
  how: { readonly facts?: readonly Fact[]; readonly answers?: string; readonly from?: 'orch' } = {},
): Promise<Message> {
  const facts = how.facts ?? [{ kind: 'current_set', key: 'asked', value: { text: said } }];
  // The files here are not the worker's.
  const settings = { ...(await ports.readSettings()), snapshot: false };
  const message = {
    id: `m-${ports.random.id(8)}`,
    epic,
    text: await ports.redact(said),
    at: ports.clock.now(),
    ...(how.answers !== undefined && { answers: how.answers }),
    ...(how.from !== undefined && { from: how.from }),
  };
  const folder = messagesFolder(ports.home, epic);
  await makeFolder(ports.disk, folder);
  // Before it is recorded: an agent that waits for the answer may see it at once, and then has heard this.
  await writeJson(ports, join(folder, nameFile(message.id, '.json')), message);
  await recordTo(ports, findDestination(ports, epic, settings, null), facts);
  await offerMessages(ports, epic);
  return message;
}

/** Lists what an epic's agent has not heard yet, oldest first. */
export function listUnheard(home: string, epic: EpicId): Message[] {
  const folder = messagesFolder(home, epic);
  const names = listFolder(folder).filter((name) => /^m-[a-z0-9]{8}\.json$/.test(name));
  const messages = names.flatMap((name) => readJson(join(folder, name), isMessage) ?? []);
  return messages.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}

type FilePorts = Pick<SessionPorts, 'disk' | 'home' | 'random'>;

/** Notes that the agent has heard some messages: it was started with them, or they are in its transcript. */
export async function noteHeard(
  ports: FilePorts,
  epic: EpicId,
  messages: readonly Pick<Message, 'id'>[],
): Promise<void> {
  if (messages.length === 0) return;
  const folder = messagesFolder(ports.home, epic);
  for (const { id } of messages) removeIfThere(ports.disk, join(folder, nameFile(id, '.json')));
  await offerMessages(ports, epic);
}

/**
 * Finds out which of the messages that a hook has taken the agent has heard: those in its transcript. What is not there
 * when the agent has ended is offered again.
 */
export async function settleTaken(
  ports: FilePorts,
  epic: EpicId,
  transcript: string | null,
  isOver: boolean,
): Promise<void> {
  const folder = messagesFolder(ports.home, epic);
  const taken = listTaken(folder);
  if (taken.length === 0) return;
  const said = (transcript && readTextIfThere(transcript)) ?? '';
  for (const { path, ids } of taken) {
    const heard = ids.filter((id) => said.includes(id));
    if (heard.length < ids.length && !isOver) continue;
    for (const id of heard) removeIfThere(ports.disk, join(folder, nameFile(id, '.json')));
    removeIfThere(ports.disk, path);
  }
  await offerMessages(ports, epic);
}

function listTaken(folder: string): { readonly path: string; readonly ids: readonly string[] }[] {
  const paths = listFolder(folder).filter((name) => name.startsWith('taken.'));
  return paths.map((name) => {
    const path = join(folder, name);
    return { path, ids: [...new Set(readTextIfThere(path)?.match(idInText))] };
  });
}

/** Writes what the hooks give to the agent: everything it has not heard and no hook has taken yet. */
async function offerMessages(ports: FilePorts, epic: EpicId): Promise<void> {
  const folder = messagesFolder(ports.home, epic);
  const taken = new Set(listTaken(folder).flatMap(({ ids }) => ids));
  const open = listUnheard(ports.home, epic).filter(({ id }) => !taken.has(id));
  const [afterTool, atEnd] = [join(folder, 'next.tool'), join(folder, 'next.stop')];
  if (open.length === 0) {
    removeIfThere(ports.disk, afterTool);
    removeIfThere(ports.disk, atEnd);
    return;
  }
  const hookSpecificOutput = { hookEventName: 'PostToolUse', additionalContext: formatMessages(open) };
  const wanted = open.filter(needsTurn);
  if (wanted.length === 0) removeIfThere(ports.disk, atEnd);
  else {
    const kept = { decision: 'block', reason: formatMessages(wanted) };
    await writeAtomically(ports, atEnd, JSON.stringify(kept));
  }
  await writeAtomically(ports, afterTool, JSON.stringify({ hookSpecificOutput }));
}

/** Is it worth another turn of the agent? What a person says is; what orch says matters only while it works. */
export function needsTurn({ from }: Message): boolean {
  return from === undefined;
}

/** What the agent reads. The ids show in its transcript that it has. */
export function formatMessages(messages: readonly Message[]): string {
  const who = ({ from }: Message) => (from === 'orch' ? 'orch, which runs you, says' : 'The user says');
  return messages.map((each) => `${who(each)} (${each.id}): ${each.text}`).join('\n\n');
}
