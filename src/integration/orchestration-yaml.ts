import { isUtf8 } from 'node:buffer';
import { writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder } from '../system/files.ts';
import { removeLeftovers, replaceFile } from '../system/replace-file.ts';
import type { Millis } from '../types.ts';
import { type Resumption, readResumption } from './orchestration-state.ts';
import { findProtection, type Refused, readUserFile } from './user-file.ts';
import { setYamlValues } from './yaml-edit.ts';

export const orchestrationFile = 'ORCHESTRATION.yaml';

/** What orch writes back; what it does not know is null. */
export type CheckpointMark = {
  readonly id: string;
  readonly fillPercentage: number | null;
  readonly tier: string | null;
  readonly at: Millis;
};

export type WriteBack = { readonly written: true } | { readonly written: false; readonly reason: string };

/** Far more than a person or an agent keeps in such a file. */
const mostBytes = 256 * 1024;
/** Each time, somebody else wrote the file while it was being replaced. */
const mostAttempts = 5;

/** Is there an ORCHESTRATION.yaml at the root of a working tree? */
export function hasOrchestrationYaml(root: string): boolean {
  return listFolder(root).includes(orchestrationFile);
}

/** Reads where the work stands by the ORCHESTRATION.yaml of a working tree; null where there is none. */
export function readOrchestrationYaml(root: string, now: Millis): Resumption | Refused | null {
  try {
    const located = readUserFile(root, orchestrationFile, mostBytes);
    if (located === null || 'problem' in located) return located;
    return readResumption(located.bytes.toString('utf8'), now);
  } catch (error) {
    return { problem: writeFailed('it could not be read', error).message };
  }
}

/**
 * Writes into a working tree's ORCHESTRATION.yaml which checkpoint is the latest. All else in it stays as it is,
 * to the byte; what prevents it is said and never thrown, for the checkpoint itself is made already.
 */
export async function writeBack(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  root: string,
  mark: CheckpointMark,
): Promise<WriteBack> {
  try {
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const located = readUserFile(root, orchestrationFile, mostBytes);
      if (located === null) return refuse('there is none');
      if ('problem' in located) return refuse(located.problem);
      const edited = setYamlValues(located.bytes.toString('utf8'), 'resumption', valuesOf(mark));
      if ('problem' in edited) return refuse(edited.problem);
      const bytes = Buffer.from(edited.text);
      if (bytes.equals(located.bytes)) return { written: true };
      const protection = findProtection(located.path);
      if (protection !== null) return refuse(protection);
      removeLeftovers(disk, located.path, mark.at);
      const change = { expected: located.bytes, bytes };
      if (await replaceFile(disk, located.path, change, random.id(8))) return { written: true };
    }
    return refuse('others keep writing it at the same time');
  } catch (error) {
    return refuse(writeFailed('it could not be replaced', error).message);
  }
}

/** The same file with all that orch writes into it left open; null where it writes nothing into such a file. */
export function withoutMark(bytes: Buffer): Buffer | null {
  if (!isUtf8(bytes) || bytes.length > mostBytes) return null;
  const nothing = {
    latest_checkpoint_id: null,
    fill_percentage: null,
    tier: null,
    checkpoint_timestamp: null,
  };
  const edited = setYamlValues(bytes.toString('utf8'), 'resumption', nothing);
  return 'problem' in edited ? null : Buffer.from(edited.text);
}

function refuse(reason: string): WriteBack {
  return { written: false, reason };
}

function valuesOf({ id, fillPercentage, tier, at }: CheckpointMark) {
  return {
    latest_checkpoint_id: id,
    fill_percentage: fillPercentage !== null && Number.isFinite(fillPercentage) ? fillPercentage : null,
    tier,
    checkpoint_timestamp: new Date(at).toISOString(),
  };
}
