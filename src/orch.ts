import { constants } from 'node:fs';
import { join } from 'node:path';
import type { OwnRows } from './checkpoint/set-back.ts';
import { type Claim, type Config, findClaims, loadConfig, readLastConfig } from './config.ts';
import type { GitEngine } from './git/engine.ts';
import { type EngineChoice, openEngine } from './git/open.ts';
import { discoverRepository, discoverRepositoryFrom, type Repository } from './git/repository.ts';
import { listRemotes } from './git/surroundings.ts';
import { type FindSecret, makeRedactor, presetRedactor, type Redactor } from './redact.ts';
import type { BaselinePorts } from './session/baseline.ts';
import { type SessionSettings, settingsOf } from './session/settings.ts';
import { identifyWriter, readOwnRows, renewWriter } from './session/writer.ts';
import { type Clock, type Random, realClock, realRandom } from './system/clock.ts';
import { type Disk, realDisk, statIfThere } from './system/files.ts';
import { hostName } from './system/process.ts';
import type { EpicId, WriterId } from './types.ts';
import { toMicros } from './units.ts';

export type { Claim };

export type OrchOptions = {
  /** A folder in the repository; the current one by default. */
  readonly cwd?: string;
  /** The folder the caller began in: where `cwd` is in no repository or in another, this one's counts. */
  readonly beganIn?: string | undefined;
  readonly engine?: EngineChoice;
  /** Do the settings of the repository count without the user's approval? */
  readonly trusted?: boolean;
  /** Pins the writer id, for machines that are made anew for every run. */
  readonly writer?: WriterId;
  /** What this machine is called where sessions are shown; empty to keep its name out of the history. */
  readonly host?: string;
  /** How sessions are kept, where it is not as the repository's config says. */
  readonly settings?: Partial<Omit<SessionSettings, 'newEpicBudget'>> & {
    /** What a new epic may spend, in dollars; null: no limit. */
    readonly newEpicBudgetUsd?: number | null;
  };
  /** Told of what went on behind the scenes. */
  readonly onReport?: (what: string) => void;
  readonly clock?: Partial<Clock>;
  readonly random?: Random;
  readonly disk?: Disk;
  /** Puts something between orch and git; tests die there. */
  readonly wrapEngine?: (git: GitEngine) => GitEngine;
};

/** An open repository: every port, wired. */
export type Orch = BaselinePorts & {
  readonly repository: Repository;
  /** The repository's settings as far as they count here; read when they are first asked for. */
  readonly readConfig: () => Promise<Config>;
  /** Those that wait for the user's yes, and until then are orch's defaults. */
  readonly listUnapproved: () => Promise<readonly Claim[]>;
  /** Remembers the user's yes to exactly these; they count from now on. */
  readonly approveClaims: (claims: readonly Claim[]) => Promise<void>;
  /** May an address that only the config names be talked to? */
  readonly mayUseAddress: (address: string) => Promise<boolean>;
  readonly readSettings: () => Promise<SessionSettings>;
  readonly findSecret: FindSecret;
  readonly readOwnRows: (epic: EpicId) => Promise<OwnRows>;
  readonly renewWriter: () => Promise<WriterId | null>;
  close(): void;
};

/** Opens the repository a folder is in. The only place where ports are wired. */
export async function openOrch(options: OrchOptions = {}): Promise<Orch> {
  const { random = realRandom, disk = realDisk, engine = 'auto' } = options;
  const clock = { ...realClock, ...options.clock };
  const { cwd = '.', beganIn } = options;
  const repository = beganIn === undefined ? discoverRepository(cwd) : discoverRepositoryFrom(beganIn, cwd);
  const home = join(repository.commonDir, 'orchestration');
  const opened = await openEngine(engine, { repository, disk, clock, random });
  const git = options.wrapEngine?.(opened) ?? opened;
  // Only git itself knows what the user ignores, filters and checks out.
  const canSnapshot = git.name === 'native' && repository.worktree !== null;
  let config: Promise<Config> | null = null;
  const { worktree } = repository;
  // An agent cannot say yes for its user.
  const isTrusted = options.trusted === true && !(await import('./session/origin.ts')).isFromInside(home);
  const trust = { home, isTrusted };
  const loadAll = async () => (await loadConfig({ disk, clock, worktree, home })).config;
  const honour = async (found: Config) =>
    // Most configs claim nothing, and what knows of approvals need not be loaded.
    findClaims(found).length === 0
      ? found
      : (await import('./session/config-trust.ts')).honourConfig(trust, found);
  const readConfig = () => {
    config ??= loadAll().then(honour);
    return config;
  };
  const listUnapproved = async () => {
    const found = await loadAll();
    if (findClaims(found, () => false).length === 0) return [];
    const remotes = git.name === 'native' ? await listRemotes(repository) : [];
    const { listUnapproved: list } = await import('./session/config-trust.ts');
    return list(trust, found, (name) => remotes.includes(name));
  };
  const writerOf = async () => options.writer ?? identifyWriter(disk, random, home, repository.commonDir);
  const writers = {
    identifyWriter: writerOf,
    readOwnRows: async (epic: EpicId) => readOwnRows(home, await writerOf(), epic),
    renewWriter: async () =>
      options.writer === undefined ? renewWriter(disk, random, home, repository.commonDir) : null,
  };
  let redactor = presetRedactor;
  let reading: Promise<Redactor> | null = null;
  // A session goes on while its config is being edited; and by the rules it had, for want of a better word.
  const readRedactor = () => {
    reading ??= readConfig()
      .catch(() => honour(readLastConfig({ worktree, home })))
      .then(async (found) => {
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
      const { approveClaims } = await import('./session/config-trust.ts');
      await approveClaims({ disk, home, random }, claims);
      [config, reading] = [null, null];
    },
    mayUseAddress: async (address) =>
      !(await listUnapproved()).some(({ key, value }) => key === 'sync.remote' && value === address),
    readSettings: async () => ({ ...settingsOf(await readConfig()), ...settingsFrom(options) }),
    readPrices: async () => (await readConfig()).prices,
    redact,
    findSecret,
    worktree: repository.worktree,
    host: options.host ?? hostName(),
    takeSnapshot: canSnapshot
      ? async (request) => {
          const { takeSnapshot } = await import('./git/snapshot.ts');
          return takeSnapshot(snapshotPorts, { ...request, label: request.session });
        }
      : null,
    readCode: canSnapshot
      ? async (request) => (await import('./git/code-changes.ts')).readCodeDifference(repository, request)
      : null,
    readTree: async (maxFileBytes) => {
      if (!canSnapshot) return null;
      const { readWorkTree } = await import('./git/snapshot.ts');
      return (await readWorkTree(snapshotPorts, maxFileBytes)).tree;
    },
    ...writers,
    bringEpic: async (epic, isKnown) => {
      const { bringEpic } = await import('./checkpoint/arrive.ts');
      const ports = { ...snapshotPorts, ...writers, readConfig };
      await bringEpic(ports, epic, { remote: (await readConfig()).sync.remote, isKnown });
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

/** Where what went on behind the scenes is written. */
export function reportLogPath(home: string): string {
  return join(home, 'logs', 'orch.log');
}

/** Keeps what was reported, for `doctor` and for people. */
function log(disk: Disk, clock: Clock, home: string, what: string): void {
  try {
    for (const folder of [home, join(home, 'logs')]) if (statIfThere(folder) === null) disk.mkdir(folder);
    const { O_APPEND, O_CREAT, O_WRONLY } = constants;
    const fd = disk.open(reportLogPath(home), O_APPEND | O_CREAT | O_WRONLY, 0o644);
    disk.write(fd, Buffer.from(`${new Date(clock.now()).toISOString()} ${what}\n`));
    disk.close(fd);
  } catch {
    // The listener was told; a log that cannot be written must not stop what it tells about.
  }
}
