import { readChecked } from '../checks.ts';
import { readTextIfThere, type WriteOptions, type WritePorts, writeAtomically } from './disk.ts';

/** Reads one of orch's own small files; null if it is missing, damaged or of another shape. */
export function readJson<T>(path: string, isRight: (value: unknown) => value is T): T | null {
  return readChecked(readTextIfThere(path), isRight);
}

/** Reads a file that nothing depends on: one that the system refuses to read counts as missing. */
export function tryReadJson<T>(path: string, isRight: (value: unknown) => value is T): T | null {
  try {
    return readJson(path, isRight);
  } catch {
    return null;
  }
}

/** Replaces such a file in one step; synced unless the options say otherwise. */
export function writeJson(
  ports: WritePorts,
  path: string,
  value: unknown,
  options?: WriteOptions,
): Promise<void> {
  return writeAtomically(ports, path, `${JSON.stringify(value)}\n`, options);
}
