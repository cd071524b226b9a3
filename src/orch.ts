import { constants } from 'node:fs';
import { join } from 'node:path';
import type { OwnRows } from './checkpoint/restored-clone.ts';
import { type Claim, type Config, findClaims, loadConfig, readLastConfig } from './config/load.ts';
import type { BaselinePorts } from './gates/run-baseline.ts';
import type { GitEngine } from './git/engine.ts';
import { type EngineChoice, openEngine } from './git/open-engine.ts';
import { discoverRepository, discoverRepositoryFrom, type Repository } from './git/repository.ts';
import { listRemotes } from './git/repository-facts.ts';
import { type SessionSettings, settingsOf } from './journal/session-settings.ts';
import { identifyWriter, readOwnRows, renewWriter } from './journal/writer.ts';
import { type FindSecret, makeRedactor, presetRedactor, type Redactor } from './redact/redactor.ts';
import { type Clock, type Random, realClock, realRandom } from './system/clock.ts';
import { type Disk, realDisk, statIfThere } from './system/disk.ts';
import { hostName } from './system/process/identity.ts';
import type { EpicId, WriterId } from './types.ts';
import { toMicros } from './units.ts';

export type { Claim };

export type OrchOptions = {
  /** A folder in the repository; the current one by default. */
  readonly cwd?: string;
  /** The folder the caller started in: its repository counts if `cwd` is in no repository or in another one. */
  readonly beganIn?: string | undefined;
  readonly engine?: EngineChoice;
  /** Use the repository's settings without the user's approval? */
  readonly trusted?: boolean;
  /** Sets the writer id, for machines that are created for each run. */
  readonly writer?: WriterId;
  /** The name of this machine in recorded sessions; empty to leave it out. */
  readonly host?: string;
  /** Overrides the repository's config. */
  readonly settings?: Partial<Omit<SessionSettings, 'newEpicBudget'>> & {
    /** The budget of a new epic, in dollars; null for none. */
    readonly newEpicBudgetUsd?: number | null;
  };
  /** Receives reports of problems that did not stop the call. */
  readonly onReport?: (what: string) => void;
  readonly clock?: Partial<Clock>;
  readonly random?: Random;
  readonly disk?: Disk;
  /** Wraps the git engine; crash tests use it to die at a chosen write. */
  readonly wrapEngine?: (git: GitEngine) => GitEngine;
};

/** An open repository with all its ports. */
export type Orch = BaselinePorts & {
  readonly repository: Repository;
  /** Reads the repository's settings, with defaults for those that need approval and have none. */
  readonly readConfig: () => Promise<Config>;
  /** Lists the settings that wait for the user's approval, in this config or in the one of the repository. */
  readonly listUnapproved: (found?: Config) => Promise<readonly Claim[]>;
  /** Approves exactly these settings; they count from now on. */
  readonly approveClaims: (claims: readonly Claim[]) => Promise<void>;
  /** Tells whether an address may be contacted: one from the config needs approval. */
  readonly mayUseAddress: (address: string) => Promise<boolean>;
  readonly readSettings: () => Promise<SessionSettings>;
  readonly findSecret: FindSecret;
  readonly readOwnRows: (epic: EpicId) => Promise<OwnRows>;
  readonly renewWriter: () => Promise<WriterId | null>;
  close(): void;
};

/** Opens the repository that a folder is in. This is the only place where ports are wired. */
export async function openOrch(options: OrchOptions = {}): Promise<Orch> {
  const { random = realRandom, disk = realDisk, engine = 'auto' } = options;
  const clock = { ...realClock, ...options.clock };
  const { cwd = '.', beganIn } = options;
  const repository = beganIn === undefined ? discoverRepository(cwd) : discoverRepositoryFrom(beganIn, cwd);
  const home = join(repository.commonDir, 'orchestration');
  const opened = await openEngine(engine, { repository, disk, clock, random });
  const git = options.wrapEngine?.(opened) ?? opened;
  // Only native git knows which files are ignored and how they are filtered.
  const canSnapshot = git.name === 'native' && repository.worktree !== null;
  let config: Promise<Config> | null = null;
  const { worktree } = repository;
  // An agent cannot approve settings for its user.
  const isTrusted =
    options.trusted === true && !(await import('./record/which/origin.ts')).isFromInside(home);
  const trust = { home, isTrusted };
  const loadAll = async () => (await loadConfig({ disk, clock, worktree, home })).config;
  const honour = async (found: Config) =>
    // Most configs need no approval, so the module for it is loaded late.
    findClaims(found).length === 0 ? found : (await import('./config/trust.ts')).honourConfig(trust, found);
  const readConfig = () => {
    config ??= loadAll().then(honour);
    return config;
  };
  const listUnapproved = async (given?: Config) => {
    const found = given ?? (await loadAll());
    if (findClaims(found, () => false).length === 0) return [];
    const remotes = git.name === 'native' ? await listRemotes(repository) : [];
    const { listUnapproved: list } = await import('./config/trust.ts');
    return list(trust, found, (name) => remotes.includes(name));
  };
  const writerOf = async () => options.writer ?? identifyWriter({ disk, random }, home, repository.commonDir);
  const writers = {
    identifyWriter: writerOf,
    readOwnRows: async (epic: EpicId) => readOwnRows(home, await writerOf(), epic),
    renewWriter: async () =>
      options.writer === undefined ? renewWriter({ disk, random }, home, repository.commonDir) : null,
  };
  let redactor = presetRedactor;
  let reading: Promise<Redactor> | null = null;
  // A running session keeps the settings it had while its config is being edited and cannot be parsed.
  const readConfigOrLast = () => readConfig().catch(() => honour(readLastConfig({ worktree, home })));
  const readRedactor = () => {
    reading ??= readConfigOrLast().then(async (found) => {
      redactor = await makeRedactor(found.redact);
      return redactor;
    });
    return reading;
  };
  const report = (what: string) => {
    options.onReport?.(what);
    log(disk, clock, home, redactor.redactAtOnce(what));
  };
  const redact = async (text: string) => (await readRedactor()).redact(text);
  const findSecret: FindSecret = async (...asked) => (await readRedactor()).findSecret(...asked);
  const snapshotPorts = { repository, git, disk, clock, random, home, report, redact, findSecret };
  return {
    repository,
    git,
    disk,
    clock,
    random,
    home,
    readConfig,
    listUnapproved,
    approveClaims: async (claims) => {
      const { approve } = await import('./config/trust.ts');
      await approve({ disk, home, random }, claims);
      [config, reading] = [null, null];
    },
    mayUseAddress: async (address) =>
      !(await listUnapproved()).some(({ key, value }) => key === 'sync.remote' && value === address),
    readSettings: async () => ({ ...settingsOf(await readConfig()), ...settingsFrom(options) }),
    readOrchestrationFileUse: async () => (await readConfigOrLast()).orchestrationFile,
    readPrices: async () => (await readConfig()).prices,
    redact,
    findSecret,
    worktree: repository.worktree,
    host: options.host ?? hostName(),
    takeSnapshot: canSnapshot
      ? async (request) => {
          const { takeSnapshot } = await import('./git/snapshot/snapshot.ts');
          return takeSnapshot(snapshotPorts, { ...request, label: request.session });
        }
      : null,
    readCode: canSnapshot
      ? async (request) =>
          (await import('./git/worktree/code-changes.ts')).readCodeDifference(repository, request)
      : null,
    readTree: async (maxFileBytes) => {
      if (!canSnapshot) return null;
      const { readWorkTree } = await import('./git/snapshot/snapshot.ts');
      return (await readWorkTree(snapshotPorts, maxFileBytes)).tree;
    },
    ...writers,
    bringEpic: async (epic, isKnown) => {
      const { fetchEpic } = await import('./sync/fetch-epic.ts');
      const ports = { ...snapshotPorts, ...writers, readConfig };
      await fetchEpic(ports, epic, { remote: (await readConfig()).sync.remote, isKnown });
    },
    report,
    close: () => git.close(),
  };
}

function settingsFrom({ settings = {} }: OrchOptions): Partial<SessionSettings> {
  const { newEpicBudgetUsd, ...others } = settings;
  if (newEpicBudgetUsd === undefined) return others;
  return { ...others, newEpicBudget: newEpicBudgetUsd === null ? null : toMicros(newEpicBudgetUsd) };
}

/** The log of everything orch reported. */
export function reportLogPath(home: string): string {
  return join(home, 'logs', 'orch.log');
}

function log(disk: Disk, clock: Clock, home: string, what: string): void {
  try {
    for (const folder of [home, join(home, 'logs')]) if (statIfThere(folder) === null) disk.mkdir(folder);
    const { O_APPEND, O_CREAT, O_WRONLY } = constants;
    const fd = disk.open(reportLogPath(home), O_APPEND | O_CREAT | O_WRONLY, 0o644);
    disk.write(fd, Buffer.from(`${new Date(clock.now()).toISOString()} ${what}\n`));
    disk.close(fd);
  } catch {
    // `onReport` has it already, and a log that cannot be written must not stop the work.
  }
}
