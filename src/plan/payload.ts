import { join } from 'node:path';
import { hash } from '../digest.ts';
import { nameFile } from '../ids.ts';
import { canonicalJson } from '../state/canonical.ts';
import { type EffectRecord, isWholePayload, maxPayloadBytes } from '../state/run.ts';
import { type Disk, readTextIfThere, writeAtomically } from '../system/files.ts';
import type { Json } from '../types.ts';
import { hidePassword } from './deed.ts';
import type { Deed, Effect, Request } from './types.ts';

/*
 * What effects send, as it is kept with their run. It is kept as it was written, so `${NAME}` stays a name; what looks
 * like a secret is taken out of it on its way to disk, and then it can no longer be sent from there.
 */

/** What an effect sends, as one text. Its digest is the effect's own, unless something in it must not be kept. */
export function writePayload(deed: Deed): string {
  if (deed.kind === 'function') return canonicalJson(deed.content ?? null);
  return canonicalJson(deed.kind === 'request' ? { ...deed, request: hideLogins(deed.request) } : deed);
}

const loginHeader = /auth|cookie|token|secret|key|password|session|signature/i;

/** A header that logs in holds a secret, whatever it looks like, unless the value comes from a variable. */
function hideLogins({ url, headers, ...request }: Request): Request {
  const hide = ([name, value]: readonly [string, string]) =>
    [name, loginHeader.test(name) && !value.includes('${') ? '***' : value] as const;
  return {
    ...request,
    url: hidePassword(url),
    headers: Object.fromEntries(Object.entries(headers).map(hide)),
  };
}

export type Kept = Pick<EffectRecord, 'content' | 'digest'>;

/**
 * An effect as it was planned, made from what was kept of it; a sentence where that cannot be sent. What a plan does
 * comes from a file the user has; a record may come from anywhere, so only what this clone planned is done by it.
 */
export function readPlanned(
  effect: Effect,
  kept: Kept,
  isOwn: (content: string) => boolean,
): Effect | string {
  const { content, digest } = kept;
  if (content === undefined) return 'what it was to send was too long to be kept';
  if (!isWholePayload(kept)) return 'something that looks like a secret was taken out of what was kept of it';
  if (!isOwn(content)) return 'it was planned by another clone';
  if (effect.deed.kind === 'function')
    return { ...effect, deed: { ...effect.deed, content: JSON.parse(content) as Json }, digest };
  return { ...effect, deed: JSON.parse(content) as Deed, digest }; // this clone wrote it
}

/** How much the payloads of one run may take together. */
const maxRunPayloads = 64 * 1024;

/** Chooses which payloads are kept: those that are not too long, as far as there is room. */
export function keepPayloads<T extends { readonly content?: string | undefined }>(
  records: readonly T[],
  room: number,
): T[] {
  let left = Math.min(room, maxRunPayloads);
  return records.map((record) => {
    const { content, ...rest } = record;
    const bytes = Buffer.byteLength(JSON.stringify(content ?? ''));
    if (content === undefined || bytes > Math.min(left, maxPayloadBytes)) return rest as T; // it may be left out
    left -= bytes;
    return record;
  });
}

function pathOf(home: string, run: string): string {
  return join(home, 'logs', nameFile(run), 'planned');
}

/** Remembers in this clone what it planned, by digests: a record from elsewhere cannot pretend to be one of these. */
export async function rememberPlanned(
  { disk, home }: { readonly disk: Disk; readonly home: string },
  run: string,
  contents: readonly string[],
  id: string,
): Promise<void> {
  if (contents.length === 0) return;
  const path = pathOf(home, run);
  const lines = contents.map((content) => `${hash('sha256', content)}\n`);
  await writeAtomically(disk, path, Buffer.from(lines.join('')), id);
}

/** Was this planned here, for this run? */
export function plannedHere(home: string, run: string): (content: string) => boolean {
  const known = new Set((readTextIfThere(pathOf(home, run)) ?? '').split('\n'));
  return (content) => known.has(hash('sha256', content));
}
