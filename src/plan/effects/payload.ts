import { join } from 'node:path';
import { hash } from '../../digest.ts';
import { nameFile } from '../../ids.ts';
import { canonicalJson } from '../../state/canonical.ts';
import { type EffectRecord, isWholePayload, maxPayloadBytes } from '../../state/runs.ts';
import type { WritePorts } from '../../system/disk.ts';
import { readLines, writeLines } from '../../system/line-file.ts';
import type { Json } from '../../types.ts';
import { hidePassword } from '../action-text.ts';
import type { Action, Effect, Request } from '../plan.ts';

/*
 * What effects send, as their run records it. `${NAME}` stays a name. Redaction removes what looks like a secret on the
 * way to disk; such a payload can no longer be sent from there.
 */

/** Formats what an effect sends. Its digest is the effect's own, unless a secret was removed. */
export function formatPayload(action: Action): string {
  if (action.kind === 'function') return canonicalJson(action.content ?? null);
  return canonicalJson(
    action.kind === 'request' ? { ...action, request: hideLogins(action.request) } : action,
  );
}

const loginHeader = /auth|cookie|token|secret|key|password|session|signature/i;

/** The value of a login header is a secret, whatever it looks like, unless it comes from a variable. */
function hideLogins({ url, headers, ...request }: Request): Request {
  const hide = ([name, value]: readonly [string, string]) =>
    [name, loginHeader.test(name) && !value.includes('${') ? '***' : value] as const;
  return {
    ...request,
    url: hidePassword(url),
    headers: Object.fromEntries(Object.entries(headers).map(hide)),
  };
}

/**
 * Restores an effect as it was planned from its record; returns the reason if it can't be sent. A plan is a file the user
 * has, but a record may come from anywhere, so only what this clone planned is carried out from a record.
 */
export function readPlanned(
  effect: Effect,
  record: Pick<EffectRecord, 'content' | 'digest'>,
  isOwn: (content: string) => boolean,
): Effect | string {
  const { content, digest } = record;
  const { action } = effect;
  if (content === undefined) return 'its payload was too long to be recorded';
  if (!isWholePayload(record)) return 'its payload was recorded without something that looks like a secret';
  if (!isOwn(content)) return 'another clone planned it';
  if (action.kind === 'function')
    return { ...effect, action: { ...action, content: JSON.parse(content) as Json }, digest };
  return { ...effect, action: JSON.parse(content) as Action, digest }; // this clone wrote it
}

/** How much the payloads of one run may take together: `planned-writeback.json` holds all of them. */
const maxRunPayloads = 1024 * 1024;

/** Drops the payloads that are too long, or for which no room is left. */
export function dropLongPayloads<T extends { readonly content?: string | undefined }>(
  records: readonly T[],
): T[] {
  let left = maxRunPayloads;
  return records.map((record) => {
    const { content, ...rest } = record;
    const bytes = Buffer.byteLength(JSON.stringify(content ?? ''));
    if (content === undefined || bytes > Math.min(left, maxPayloadBytes)) return rest as T; // content is optional
    left -= bytes;
    return record;
  });
}

function pathOf(home: string, run: string): string {
  return join(home, 'logs', nameFile(run), 'planned');
}

/** Remembers in this clone what it planned, as digests, so that a record from another clone cannot pass for one. */
export async function rememberPlanned(
  ports: WritePorts & { readonly home: string },
  run: string,
  contents: readonly string[],
): Promise<void> {
  if (contents.length === 0) return;
  const digests = contents.map((content) => hash('sha256', content));
  await writeLines(ports, pathOf(ports.home, run), digests);
}

/** Returns a check for whether this clone planned a payload for this run. */
export function wasPlannedHere(home: string, run: string): (content: string) => boolean {
  const known = new Set(readLines(pathOf(home, run)));
  return (content) => known.has(hash('sha256', content));
}
