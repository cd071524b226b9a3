import { hash } from '../digest.ts';
import { isEpicId, parseEpicId, parseSessionId, slugOf } from '../ids.ts';
import type { EpicId, SessionId } from '../types.ts';

/** What is shared between clones. */
export const sharedPrefix = 'refs/orchestration/';
/** Where what was seen on remotes is kept; never pushed. */
export const remotesPrefix = 'refs/orchestration-local/remotes/';

/** Where a remote's refs are kept here. */
export function trackedPrefix(remote: string): string {
  return `${remotesPrefix}${remote}/`;
}

/** `refs/orchestration/epics/x` → `refs/orchestration-local/remotes/origin/epics/x`. */
export function trackedRef(remote: string, ref: string): string {
  return `${trackedPrefix(remote)}${ref.slice(sharedPrefix.length)}`;
}

/** The other way round: what a ref that was seen on a remote is called there; null for any other ref. */
export function parseTrackedRef(ref: string): string | null {
  const [, shared] = /^.+\/(epics\/[^/]+|snapshots\/[^/]+\/[^/]+)$/.exec(ref) ?? [];
  return shared !== undefined && ref.startsWith(remotesPrefix) ? `${sharedPrefix}${shared}` : null;
}

/** The name under which an address is kept that has none in the user's config. */
export function nameAddress(url: string): string {
  const end =
    slugOf(
      url
        .replace(/[/\\]+$/, '')
        .split(/[/\\:]/)
        .at(-1) ?? '',
    ) ?? 'remote';
  return `${end}-${hash('sha256', url).slice(0, 8)}`;
}

/** What a shared ref is: an epic's checkpoints, or a session's snapshots; null for anything else. */
export function parseSharedRef(
  ref: string,
): { readonly epic: EpicId; readonly session: SessionId | null } | null {
  const [, kind, epic = '', session] =
    /^refs\/orchestration\/(epics|snapshots)\/([^/]+)(?:\/([^/]+))?$/.exec(ref) ?? [];
  if (kind === undefined || !isEpicId(epic)) return null;
  if (kind === 'epics') return session === undefined ? { epic: parseEpicId(epic), session: null } : null;
  if (session === undefined || !/^sess-[a-z0-9]{4,32}$/.test(session)) return null;
  return { epic: parseEpicId(epic), session: parseSessionId(session) };
}
