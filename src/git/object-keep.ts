import { join } from 'node:path';
import { sleep } from '../system/clock.ts';
import { listFolder, statIfThere } from '../system/files.ts';
import type { Millis } from '../types.ts';
import type { GitObject } from './engine.ts';
import { hashObject, type ObjectStore, writeLooseObjects } from './objects.ts';

/** So long a garbage collection that is under way is watched; it may have looked at the refs before they moved. */
const watched: Millis = 1_000;
const pause: Millis = 20;

/**
 * Writes objects again that are no longer there as files. Git removes what no ref led to when it looked; what it has
 * packed instead is written once more, which its next collection tidies. Ordinarily this is a look at each file.
 */
export async function keepLooseObjects(store: ObjectStore, objects: readonly GitObject[]): Promise<void> {
  const isGone = (object: GitObject) => {
    const oid = hashObject(object, store.format);
    return statIfThere(join(store.folder, oid.slice(0, 2), oid.slice(2))) === null;
  };
  const collecting = join(store.folder, '..', 'gc.pid');
  for (let waited = 0; ; waited += pause) {
    const gone = objects.filter(isGone);
    if (gone.length > 0) await writeLooseObjects(store, gone);
    else if (waited >= watched || statIfThere(collecting) === null) return;
    await sleep(pause);
  }
}

/** Ids are spread evenly over 256 folders, so four of them tell, as one does for `gc.auto`. */
const counted = ['17', '5a', '9c', 'e3'];

/** About how many loose objects there are. */
export function estimateLoose(folder: string): number {
  const found = counted.reduce((sum, name) => sum + listFolder(join(folder, name)).length, 0);
  return (found * 256) / counted.length;
}
