import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { epicRef } from '../../src/checkpoint/document/names-in-git.ts';
import { mergeHistory } from '../../src/checkpoint/merge.ts';
import { defaultConfig } from '../../src/config/load.ts';
import { parseWriterId } from '../../src/ids.ts';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { readOwnRows } from '../../src/journal/writer.ts';
import type { Orch } from '../../src/orch.ts';
import { presetRedactor } from '../../src/redact/redactor.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import { type MemoryRepository, makeMemoryRepository, openMemoryEngine } from './memory-engine.ts';
import { makeFolder } from './repository.ts';
import { epic } from './store.ts';

export type Clone = { readonly orch: Orch; readonly repository: MemoryRepository };

/** A clone whose git is the model and whose journals are real files. */
export function makeClone(name: string, skew: number): Clone {
  const repository = makeMemoryRepository();
  const home = join(makeFolder(), 'orchestration');
  mkdirSync(home);
  let [tick, writer, renewed] = [0, parseWriterId(name), 0];
  const git = openMemoryEngine(repository);
  const orch: Orch = {
    git,
    disk: realDisk,
    clock: { ...realClock, now: () => 1_800_000_000_000 + skew + 1_000 * ++tick },
    random: realRandom,
    home,
    report: () => {},
    redact: presetRedactor.redact,
    findSecret: presetRedactor.findSecret,
    takeSnapshot: null,
    readCode: null,
    readTree: async () => null,
    readConfig: async () => defaultConfig,
    listUnapproved: async () => [],
    approveClaims: async () => {},
    mayUseAddress: async () => false,
    readSettings: async () => defaultSettings,
    identifyWriter: async () => writer,
    readOwnRows: async (epicId) => readOwnRows(home, writer, epicId),
    renewWriter: async () => {
      writer = parseWriterId(`${name}-${++renewed}`);
      return writer;
    },
    repository: {
      gitDir: home,
      commonDir: home,
      worktree: null,
      format: 'sha1',
      refStorage: 'files',
      extensions: [],
    },
    close: () => {},
  };
  return { orch, repository };
}

/** Brings one clone's objects and history to another, as a fetch and a merge do. */
export async function fetchAndMerge(from: Clone, to: Clone): Promise<void> {
  const theirs = from.repository.refs.get(epicRef(epic));
  if (theirs === undefined || from === to) return;
  for (const [oid, object] of from.repository.objects) to.repository.objects.set(oid, object);
  const { setBack } = await mergeHistory(to.orch, epic, theirs, await to.orch.readOwnRows(epic));
  if (setBack.length > 0) await to.orch.renewWriter();
}
