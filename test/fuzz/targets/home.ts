import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { meterTranscripts } from '../../../src/agents/transcript/transcript-meter.ts';
import { readDeletedRefs } from '../../../src/checkpoint/deleted-refs.ts';
import { findRaisedBudget, withLocalBudget } from '../../../src/checkpoint/local-budget.ts';
import { readLost } from '../../../src/checkpoint/lost-objects.ts';
import { addToCache } from '../../../src/config/config-cache.ts';
import { defaultConfig, readLastConfig } from '../../../src/config/load.ts';
import { isApproved } from '../../../src/config/trust.ts';
import { readHookFaults } from '../../../src/hooks/faults.ts';
import { parseEpicId, parseSessionId, parseWriterId } from '../../../src/ids.ts';
import { formatRecord } from '../../../src/journal/journal-format.ts';
import { checkLive, listLive, readRequest } from '../../../src/journal/live.ts';
import { readPending } from '../../../src/journal/pending.ts';
import { journalFolder } from '../../../src/journal/read.ts';
import { defaultSettings, settingsOf } from '../../../src/journal/session-settings.ts';
import { identifyWriter, inspectWriter, listOtherWriters } from '../../../src/journal/writer.ts';
import { lastUsedOn, rememberUsed } from '../../../src/record/which/last-used.ts';
import { findLinks, meterCache, readLink } from '../../../src/session/agent/agent-link.ts';
import { budgetOf } from '../../../src/state/current.ts';
import { emptyState } from '../../../src/state/lists.ts';
import { listSyncedRemotes } from '../../../src/sync/unpushed.ts';
import { realRandom } from '../../../src/system/clock.ts';
import { realDisk } from '../../../src/system/disk.ts';
import { findDeadHolder } from '../../../src/system/lock.ts';
import { identifyThisProcess } from '../../../src/system/process/identity.ts';
import type { Form } from '../mutate.ts';
import { must, type Target, type Verdict } from '../target.ts';
import { mustBeUsage } from './agents.ts';
import { at, composed, epic, oid } from './epic.ts';
import { scratch } from './scratch.ts';

/*
 * What orch keeps in <git-common-dir>/orchestration. It is its own, but a copied clone, a crash or another program may
 * have put anything there.
 */

const session = parseSessionId('sess-abcd');
const commonDir = join(scratch, 'git');
const home = join(commonDir, 'orchestration');
const writer = parseWriterId('w-abcd');
mkdirSync(home, { recursive: true });

/** A file of orch's own, and what reads it. */
function file(
  name: string,
  path: string,
  form: Form,
  sample: unknown,
  read: () => Promise<Verdict> | Verdict,
): Target {
  const full = join(home, path);
  const text = typeof sample === 'string' ? sample : JSON.stringify(sample);
  return {
    name,
    form,
    samples: [Buffer.from(text)],
    run: async (input): Promise<Verdict> => {
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, input);
      try {
        return await read();
      } finally {
        rmSync(full, { force: true });
      }
    },
  };
}

const holder = identifyThisProcess();
const budget = { budget: { value: 9_000_000, stamp: [at, writer, 3] as const } };
const raised = { ...emptyState, current: budget };
const usage = { micros: 5, input: 1, output: 2, cacheRead: 3, cacheWrite: 4, unpriced: 0 };

export const homeTargets: readonly Target[] = [
  file(
    'live record',
    `live/${session}.json`,
    'json',
    {
      session,
      epic,
      holder,
      kind: 'supervised',
      worktree: '/x',
      command: ['claude', '-p'],
      since: at,
      base: oid,
      settings: defaultSettings,
      above: { session: 'sess-efgh', epic: 'y' },
      group: '/sys/fs/cgroup/x',
    },
    () => {
      const records = listLive(home);
      for (const record of records) {
        checkLive(record);
        must(['supervised', 'library', 'hooked'].includes(record.kind), `a session of kind ${record.kind}`);
        must(record.command === null || record.command.join(' ').length >= 0, 'a command is words');
        must(Number.isFinite(record.since), 'a time is a number');
        must(Number.isFinite(record.settings.keep), 'settings are there');
      }
      return records.length > 0 ? 'accepted' : 'refused';
    },
  ),
  file('stop request', `live/${session}.request`, 'json', { want: 'pause', reason: 'lunch' }, () => {
    const request = readRequest(home, session);
    if (request === null) return 'refused';
    must(request.want === 'pause' || request.want === 'complete', `it wants ${String(request.want)}`);
    must(request.reason === null || typeof request.reason === 'string', 'a reason is a text');
    return 'accepted';
  }),
  file(
    'agent link',
    `agents/${session}.json`,
    'json',
    {
      session,
      epic,
      because: 'branch',
      agent: 'claude',
      parentSessionId: null,
      agentSessions: ['3f0c3a1e-0000-4000-8000-000000000001'],
      transcripts: ['/x/y.jsonl'],
      before: { m: usage },
      isBriefed: true,
    },
    () => {
      findLinks(home, 'x');
      const link = readLink(home, session);
      if (link === null) return 'refused';
      must(
        link.transcripts.every((path) => typeof path === 'string'),
        'transcripts are paths',
      );
      must(typeof link.agent === 'string', 'an agent has a name');
      for (const before of Object.values(link.before)) mustBeUsage(before);
      return 'accepted';
    },
  ),
  file(
    'writer file',
    'writer.json',
    'json',
    { id: writer, machine: holder.host, path: commonDir, restoredFrom: 'w-old', copiedFrom: ['w-other'] },
    async (): Promise<Verdict> => {
      const found = inspectWriter(home, commonDir);
      for (const other of listOtherWriters(home)) must(typeof other === 'string', 'a writer is a word');
      parseWriterId(await identifyWriter({ disk: realDisk, random: realRandom }, home, commonDir));
      return found.kind === 'none' ? 'refused' : 'accepted';
    },
  ),
  file('trust file', 'trust.json', 'json', { format: 1, approved: ['a'.repeat(64)] }, () => {
    must(!isApproved(home, [{ key: 'sync.remote', value: 'x' }]), 'nothing is approved by chance');
    return 'accepted';
  }),
  file('held budget', `held-budgets/${epic}`, 'json', { limit: 5_000_000, stamp: [at, writer, 3] }, () => {
    const limit = budgetOf(withLocalBudget(home, epic, raised));
    must(limit !== null && Number.isSafeInteger(limit) && limit >= 0, `a budget of ${limit}`);
    const found = findRaisedBudget(home, epic, raised);
    must(found === null || Number.isFinite(found.fromUsd), 'what is raised is money');
    return found === null ? 'refused' : 'accepted';
  }),
  file(
    'hook faults',
    'hook-faults.json',
    'json',
    [{ at: '2026-11-16T10:00:00Z', agent: 'claude', event: 'stop', message: 'no', count: 2 }],
    () => {
      const faults = readHookFaults(home, at);
      for (const { count } of faults) must(Number.isFinite(count), 'a count is a number');
      return faults.length > 0 ? 'accepted' : 'refused';
    },
  ),
  file('last used', 'last-used.json', 'json', { main: 'x', 'feat/y': 'y', __proto__: 'z' }, () => {
    rememberUsed(realDisk, home, 'main', parseEpicId('q'));
    return lastUsedOn(home, 'main') === null ? 'refused' : 'accepted';
  }),
  file('forgotten', 'forgotten', 'text', `\nrefs/orchestration/epics/x ${oid}\n`, () =>
    readDeletedRefs(home).size > 0 ? 'accepted' : 'refused',
  ),
  file('synced remotes', 'synced-remotes', 'text', 'origin\nhub-1234\n', () => {
    listSyncedRemotes(home);
    return 'accepted';
  }),
  file(
    'lost snapshots',
    'lost.jsonl',
    'lines',
    `\n${JSON.stringify({ at: '2026-11-16T10:00:00Z', ref: 'refs/x', oid, problem: 'gone', now: null, checkpoints: ['c'] })}\n`,
    () => {
      const lost = readLost(home);
      for (const { ref, problem, checkpoints } of lost)
        must(
          [ref, problem, ...checkpoints].every((text) => typeof text === 'string'),
          'what is lost is named',
        );
      return lost.length > 0 ? 'accepted' : 'refused';
    },
  ),
  file('lock', 'locks/x.lock', 'lines', `${JSON.stringify(holder)}\nx`, () => {
    findDeadHolder(join(home, 'locks/x.lock'), at + 1e12);
    return 'accepted';
  }),
  file(
    'journal file',
    `journal/${session}.jsonl`,
    'text',
    formatRecord({ format: 1, epic, session, writer }) +
      formatRecord({ at, fact: { kind: 'note', id: 'n', text: 'x' } }),
    () => {
      const state = composed[0]?.document.state ?? emptyState;
      return readPending(journalFolder(home), epic, state).events.length > 0 ? 'accepted' : 'refused';
    },
  ),
  file(
    'config cache',
    'config-cache.json',
    'json',
    JSON.stringify(
      addToCache(
        {},
        { path: '/x/.orchestration/config.yaml', mtimeMs: 1, ctimeMs: 1, size: 1, ino: 1 },
        defaultConfig,
      ),
    ),
    () => {
      settingsOf(readLastConfig({ worktree: '/x', home }));
      return 'accepted';
    },
  ),
  file(
    'meter cache',
    `agents/${session}.meter`,
    'json',
    `{"format":5,"sum":"${'a'.repeat(64)}","kept":{}}`,
    async (): Promise<Verdict> => {
      const request = {
        cache: meterCache(home, session),
        paths: [],
        prices: {},
        recorded: {},
        before: {},
        isFollowed: true,
      };
      await meterTranscripts({ disk: realDisk, random: realRandom }, request);
      return 'accepted';
    },
  ),
];
