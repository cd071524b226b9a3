import { hasCode, OrchError } from '../errors.ts';
import { type PushedRef, pushRefs, type Remote } from '../git/remote.ts';
import { hideCredentials } from '../git/remote-error.ts';
import { findBrokenLink } from '../git/storage.ts';
import type { Oid } from '../types.ts';
import type { Difference } from './sync-plan.ts';

/** A ref that is to stand where ours does. */
export type Sending = Difference & { readonly ours: Oid };

export type Sent = {
  readonly done: readonly Sending[];
  /** Somebody was faster: what they have must come here first. */
  readonly moved: readonly Sending[];
  readonly refused: readonly { readonly sending: Sending; readonly error: OrchError }[];
};

/** Sends refs, and tells those that arrived from those that did not. */
export async function sendRefs(remote: Remote, all: readonly Sending[]): Promise<Sent> {
  if (all.length === 0) return { done: [], moved: [], refused: [] };
  const first = await push(remote, all);
  const epics = all.filter(({ session }) => session === null);
  const damaged = await findDamaged(remote, all, first);
  for (const result of damaged.values()) first.set(result.ref, result);
  const rest = all.filter(({ ref }) => first.get(ref)?.how === 'refused');
  // What is damaged here has git send none of them: without it, the others get through.
  if (damaged.size > 0 && rest.length > 0)
    for (const [ref, result] of await push(remote, rest)) first.set(ref, result);
  const isAnyRefused = [...first.values()].some(({ how }) => how === 'refused');
  // A server may refuse all for one: the checkpoints must not stay behind for the sake of a snapshot.
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

/** Which of the refused ones this clone itself could not read to its end. */
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
    // One that is damaged here keeps git from sending any: each by itself, the others get through.
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

/** Git could not even read it: nothing that depends on the missing part can be sent, and the rest was. */
function explainDamage({ epic, session, ref }: Sending, { reason }: PushedRef): OrchError {
  const what = session === null ? epic : `the snapshots of ${session} (${epic})`;
  return new OrchError(
    'INTEGRITY',
    `${what} cannot be sent, because a part of it is missing here: ${reason}`,
    {
      hint: 'Everything else was sent. See what is lost with: orch doctor',
      data: { epicId: epic, ref },
    },
  );
}

function explainRefusal(remote: Remote, { epic, session, ref }: Sending, { reason }: PushedRef): OrchError {
  const what = session === null ? epic : `the snapshots of ${session} (${epic})`;
  const name = hideCredentials(remote.name);
  const isShallow = /shallow/.test(reason ?? '');
  return new OrchError('REMOTE_REFUSED', `${name} did not take ${what}: ${reason}`, {
    hint: isShallow
      ? 'This clone has only a part of the history. Get the rest first: git fetch --unshallow'
      : 'Nothing is lost: all of it is still here. Whoever runs the server can say what it takes.',
    data: { remote: name, epicId: epic, ref },
  });
}
