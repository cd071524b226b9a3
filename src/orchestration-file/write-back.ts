import { isUtf8 } from 'node:buffer';
import { findProtection, type Refused, readUserFile } from '../config/yaml/user-file.ts';
import { setYamlValues } from '../config/yaml/yaml-edit.ts';
import { writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, removeLeftovers, replaceFile } from '../system/disk.ts';
import type { Millis } from '../types.ts';
import { orchestrationFile } from './orchestration-file.ts';
import { type Resumption, readResumption } from './resumption.ts';

/** What orch writes into the file; null if unknown. */
type CheckpointMark = {
  readonly id: string;
  readonly fillPercentage: number | null;
  readonly tier: string | null;
  readonly at: Millis;
};

type WriteBack = { readonly written: true } | { readonly written: false; readonly reason: string };

/** Far more than a person or an agent puts into such a file. */
const mostBytes = 256 * 1024;
/** Another attempt is made if another process wrote the file meanwhile. */
const mostAttempts = 5;

/** Reads a working tree's ORCHESTRATION.yaml, if there is one. */
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
 * Names the latest checkpoint in a working tree's ORCHESTRATION.yaml. Every other byte stays as it is. Failures are
 * returned, never thrown, because the checkpoint already exists.
 */
export async function writeBack(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  root: string,
  mark: CheckpointMark,
): Promise<WriteBack> {
  try {
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const located = readUserFile(root, orchestrationFile, mostBytes);
      if (located === null) return refuse('it does not exist');
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
    return refuse('other processes keep changing it');
  } catch (error) {
    return refuse(writeFailed('it could not be replaced', error).message);
  }
}

/** Returns the file with orch's own values set to null; null if orch could not write into it. */
export function withoutMark(bytes: Buffer): Buffer | null {
  if (!isUtf8(bytes) || bytes.length > mostBytes) return null;
  const noMark = {
    latest_checkpoint_id: null,
    fill_percentage: null,
    tier: null,
    checkpoint_timestamp: null,
  };
  const edited = setYamlValues(bytes.toString('utf8'), 'resumption', noMark);
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
