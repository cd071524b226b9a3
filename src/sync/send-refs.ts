import { hasCode, OrchError } from '../errors.ts';
import { findBrokenLink } from '../git/objects/reachable.ts';
import { type PushedRef, pushRefs, type Remote } from '../git/remote/remote.ts';
import { hideCredentials } from '../git/remote/remote-errors.ts';
import type { Oid } from '../types.ts';
import type { Difference } from './plan-sync.ts';

/** A ref to send to the remote. */
export type Sending = Difference & { readonly ours: Oid };

export type Sent = {
  readonly done: readonly Sending[];
  /** Another clone pushed first: its work has to be fetched before ours can be sent. */
  readonly moved: readonly Sending[];
  readonly refused: readonly { readonly sending: Sending; readonly error: OrchError }[];
};

/** Sends refs, and returns which arrived and which did not. */
export async function sendRefs(remote: Remote, all: readonly Sending[]): Promise<Sent> {
  if (all.length === 0) return { done: [], moved: [], refused: [] };
  const first = await push(remote, all);
  const epics = all.filter(({ session }) => session === null);
  const damaged = await findDamaged(remote, all, first);
  for (const result of damaged.values()) first.set(result.ref, result);
  const rest = all.filter(({ ref }) => first.get(ref)?.how === 'refused');
  // With a damaged ref among them, git sends none: without it, the others get through.
  if (damaged.size > 0 && rest.length > 0)
    for (const [ref, result] of await push(remote, rest)) first.set(ref, result);
  const isAnyRefused = [...first.values()].some(({ how }) => how === 'refused');
  // A server may refuse all because of one: a refused snapshot must not hold back the checkpoints.
  const second =
    isAnyRefused && epics.length > 0 && epics.length < all.length ? await push(remote, epics) : first;
  const result = ({ ref }: Sending) => second.get(ref) ?? first.get(ref);
  return {
    done: all.filter((each) => result(each)?.how === 'done'),
    moved: all.filter((each) => result(each)?.how === 'moved'),
    refused: all.flatMap((sending) => {
      const answer = result(sending);
      if (answer?.how === 'damaged') return [{ sending, error: explainDamage(sending, answer) }];
      return answer?.how === 'refused' ? [{ sending, error: explainRefusal(remote, sending, answer) }] : [];
    }),
  };
}

/** Finds the refused refs that are damaged in this clone. */
async function findDamaged(
  { repository }: Remote,
  all: readonly Sending[],
  results: ReadonlyMap<string, PushedRef>,
): Promise<Map<string, PushedRef>> {
  const damaged = new Map<string, PushedRef>();
  for (const { ref, ours } of all) {
    if (results.get(ref)?.how !== 'refused') continue;
    const reason = await findBrokenLink(repository, [ours], []);
    if (reason !== null) damaged.set(ref, { ref, how: 'damaged', reason });
  }
  return damaged;
}

async function push(remote: Remote, all: readonly Sending[]): Promise<Map<string, PushedRef>> {
  const specs = all.map(({ ref, ours }) => ({ commit: ours, to: ref }));
  try {
    return new Map((await pushRefs(remote, specs)).map((result) => [result.ref, result]));
  } catch (error) {
    // With a damaged ref among them, git sends none: sent one by one, the others get through.
    if (!hasCode(error, 'GIT_FAILED') || all.length === 1) throw error;
    const results = new Map<string, PushedRef>();
    for (const each of all) {
      try {
        for (const [ref, result] of await push(remote, [each])) results.set(ref, result);
      } catch (second) {
        if (!hasCode(second, 'GIT_FAILED')) throw second;
        results.set(each.ref, { ref: each.ref, how: 'damaged', reason: second.message });
      }
    }
    return results;
  }
}

function nameSending({ epic, session }: Sending): string {
  return session === null ? epic : `the snapshots of ${session} (${epic})`;
}

function explainDamage(sending: Sending, { reason }: PushedRef): OrchError {
  const message = `${nameSending(sending)} cannot be sent, because part of it is missing here: ${reason}`;
  return new OrchError('INTEGRITY', message, {
    hint: 'Everything else was sent. See what is missing: orch doctor',
    data: { epicId: sending.epic, ref: sending.ref },
  });
}

function explainRefusal(remote: Remote, sending: Sending, { reason }: PushedRef): OrchError {
  const name = hideCredentials(remote.name);
  const isShallow = /shallow/.test(reason ?? '');
  return new OrchError('REMOTE_REFUSED', `${name} refused ${nameSending(sending)}: ${reason}`, {
    hint: isShallow
      ? 'This clone has only part of the history. Fetch the rest first: git fetch --unshallow'
      : 'Nothing is lost: it is all still here. Ask the administrator of the server what it accepts.',
    data: { remote: name, epicId: sending.epic, ref: sending.ref },
  });
}
