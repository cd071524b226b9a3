import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { makeFolder } from './scratch.js';

const wanted = `
export { formatDocument } from './checkpoint/document/document.ts';
export { formatMessage, parseMessage } from './checkpoint/document/message.ts';
export { documentName } from './checkpoint/document/names-in-git.ts';
export { findCollisions, nothingCompared } from './convoy/collisions/find-collisions.ts';
export { openMergeQueue } from './convoy/merge/merge-queue.ts';
export { openMergedWorktree } from './convoy/worktree/task-worktree.ts';
export { takeSnapshot } from './git/snapshot/snapshot.ts';
export { makeCheckpointId, parseEpicId, parseOid, parseSessionId } from './ids.ts';
export { meterTranscripts } from './agents/transcript/transcript-meter.ts';
export { openOrch } from './orch.ts';
export { expandItems } from './plan/items.ts';
export { parsePlan } from './plan/parse-plan.ts';
export { nothingKnown, openSchedule } from './plan/schedule/schedule.ts';
export { removeTaskWorktree } from './convoy/worktree/free-worktrees.ts';
export { closeTaskWorktree, openTaskWorktree } from './convoy/worktree/task-worktree.ts';
export { canonicalJson } from './state/canonical.ts';
export { appendToJournal, createJournal } from './journal/append.ts';
export { journalPath } from './journal/read.ts';
export { realRandom } from './system/clock.ts';
export { realDisk } from './system/disk.ts';
`;

/** What the library keeps to itself: bundled from the sources, which is how dist is made of them too. */
export async function loadInternals() {
  const outfile = join(makeFolder(), 'internals.mjs');
  const resolveDir = fileURLToPath(new URL('../../src', import.meta.url));
  await build({
    stdin: { contents: wanted, resolveDir, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    // The yaml package requires node's own modules.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    outfile,
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}
