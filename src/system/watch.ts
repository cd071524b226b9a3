import { watch } from 'node:fs';

/** Tells when something in these folders changes, as far as the system says so; a caller also looks by itself. */
export function watchFolders(folders: readonly string[], onChange: () => void): () => void {
  const watchers = folders.flatMap((folder) => {
    try {
      const watcher = watch(folder, { persistent: false }, onChange);
      watcher.on('error', () => watcher.close()); // the folder went, or the system ran out of watches
      return [watcher];
    } catch {
      return []; // it cannot be watched here: looking now and then has to do
    }
  });
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}
