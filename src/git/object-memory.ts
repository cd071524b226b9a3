import type { Oid } from '../types.ts';
import { type GitObject, maxObjectBytes, tooLarge } from './engine.ts';

export type ObjectMemory = {
  /** An object that is remembered, or else is read, and is from then on. */
  get(oid: Oid, most?: number): Promise<GitObject>;
  add(oid: Oid, object: GitObject): void;
};

/**
 * The objects read or written last, by id: they never change, and one checkpoint reads the same few again and again,
 * most of them what the one before wrote.
 */
export function rememberObjects(read: (oid: Oid, most: number) => Promise<GitObject>): ObjectMemory {
  const known = new Map<Oid, GitObject>();
  const add = (oid: Oid, object: GitObject) => {
    if (object.bytes.length <= 65_536) known.set(oid, object);
    const [oldest] = known.size > 64 ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };
  return {
    get: async (oid, most = maxObjectBytes) => {
      const found = known.get(oid);
      if (found) return found;
      const object = await read(oid, most);
      if (object.bytes.length > most) throw tooLarge(oid, most);
      add(oid, object);
      return object;
    },
    add,
  };
}
