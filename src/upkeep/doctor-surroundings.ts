import { join } from 'node:path';
import { parseConfigFile } from '../config.ts';
import { hasCode } from '../errors.ts';
import { askVersion, readGitConfig } from '../git/storage.ts';
import { listWorktrees } from '../git/surroundings.ts';
import { readShallow } from '../git/walk.ts';
import { readOrchestrationYaml } from '../integration/orchestration-yaml.ts';
import { listFolder, statIfThere } from '../system/files.ts';
import { isWritable, readFreeBytes } from '../system/folders.ts';
import { findProgram, isExecutable } from '../system/spawn.ts';
import { count, formatSize } from '../units.ts';
import { type Check, type DoctorPorts, fail, ok, warn } from './doctor-types.ts';

/* The machine and the user's repository: what orch stands on. */

const neededNode = [20, 19];
/** The first that waits for the disk for loose objects and refs when it is told to. */
const durableGit = [2, 36];
/** The first that packs loose objects without pruning. */
const neededGit = [2, 30];

function isBelow(version: string, least: readonly number[]): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least;
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

const node: Check = {
  name: 'node',
  look: ({ caller }) =>
    isBelow(caller.node, neededNode)
      ? fail(`node ${caller.node}`, `Install node ${neededNode.join('.')} or newer`)
      : ok(caller.node),
};

const git: Check = {
  name: 'git',
  look: async ({ git: engine, repository }) => {
    const path = findProgram('git');
    if (engine.name !== 'native')
      return warn(
        `the ${engine.name} engine is in use${path ? `, though there is ${path}` : ': git was not found'}; no snapshots, no sync`,
        path ? 'Run it with ORCH_ENGINE=auto, or without that variable' : 'Install git',
      );
    const version = await askVersion(repository);
    const evidence = `${version}, ${path ?? 'git'}`;
    if (isBelow(version, neededGit)) return fail(evidence, `Install git ${neededGit.join('.')} or newer`);
    if (isBelow(version, durableGit))
      return warn(
        `${evidence}: it does not wait for the disk`,
        `Install git ${durableGit.join('.')} or newer`,
      );
    return ok(evidence);
  },
};

const repositoryCheck: Check = {
  name: 'repository',
  look: async ({ repository, git: engine }) => {
    const { format, refStorage, worktree, commonDir, extensions } = repository;
    const shallow = readShallow(commonDir).size;
    const worktrees = engine.name === 'native' ? (await listWorktrees(repository)).length : 1;
    const facts = [
      format,
      `refs in ${refStorage}`,
      worktree === null ? 'bare: no snapshots' : worktrees > 1 ? `${worktrees} worktrees` : null,
      shallow > 0 ? `shallow, ${count(shallow, 'boundary commit')}` : null,
      extensions.includes('partialclone') ? 'a partial clone' : null,
      statIfThere(join(repository.gitDir, 'info', 'sparse-checkout')) ? 'a sparse checkout' : null,
    ];
    return ok(facts.filter((fact) => fact !== null).join(', '));
  },
};

const config: Check = {
  name: 'config',
  look: async ({ repository, listUnapproved }) => {
    if (repository.worktree === null) return ok('a bare repository has none');
    try {
      const { path } = await parseConfigFile(repository.worktree);
      const waiting = (await listUnapproved()).map(({ key }) => key);
      if (waiting.length > 0)
        return warn(
          `${waiting.join(', ')} in ${path} is not used: it is yours to approve`,
          'See it, and approve it or not: orch init --no-claude --no-codex',
        );
      return ok(path === null ? 'none; the defaults hold' : path);
    } catch (error) {
      if (!hasCode(error, 'CONFIG_INVALID')) throw error;
      return fail(error.message, error.hint ?? 'Fix the file');
    }
  },
};

/** Orch's own gits run no hooks; those that the user starts on our refs do. */
const foreignHooks: Check = {
  name: 'foreign hooks',
  look: async (ports) => {
    const settings = await readSettings(ports);
    const hooksPath = settings.get('core.hookspath');
    const folder = hooksPath ?? join(ports.repository.commonDir, 'hooks');
    const hooks = ['reference-transaction', 'pre-push'].filter((name) => isExecutable(join(folder, name)));
    const fsmonitor = settings.get('core.fsmonitor');
    const facts = [
      hooksPath === undefined ? null : `core.hooksPath is ${hooksPath}`,
      ...hooks.map((name) => `${join(folder, name)} is there`),
      fsmonitor && fsmonitor !== 'false' ? `core.fsmonitor is ${fsmonitor}` : null,
    ].filter((fact) => fact !== null);
    if (facts.length === 0) return ok('none');
    const evidence = `${facts.join('; ')}. orch runs none of them`;
    if (!hooks.includes('reference-transaction')) return ok(evidence);
    return warn(
      evidence,
      'It runs when you push, fetch or delete refs/orchestration yourself, and may refuse it: let it pass them',
    );
  },
};

const loose: Check = {
  name: 'loose objects',
  look: async (ports) => {
    // As git itself guesses: ids are spread evenly, so one of 256 folders tells of all.
    const about = listFolder(join(ports.repository.commonDir, 'objects', '17')).length * 256;
    const evidence = about === 0 ? 'few' : `about ${about}`;
    const isOff = (await readSettings(ports)).get('gc.auto') === '0';
    if (!isOff || about < 20_000) return ok(`${evidence}${isOff ? '; gc.auto is 0' : ''}`);
    return warn(
      `${evidence}, and gc.auto is 0: nobody packs them`,
      'Run: git maintenance run --task=loose-objects',
    );
  },
};

async function readSettings({ git: engine, repository }: DoctorPorts): Promise<ReadonlyMap<string, string>> {
  return engine.name === 'native' ? readGitConfig(repository) : new Map();
}

const megabyte = 1024 * 1024;

const disk: Check = {
  name: 'disk',
  look: ({ repository, home }) => {
    const folders = [...['objects', 'refs'].map((name) => join(repository.commonDir, name)), home];
    const closed = folders.find((folder) => statIfThere(folder) !== null && !isWritable(folder));
    if (closed !== undefined)
      return fail(`${closed} cannot be written to`, 'Run orch as the user who owns the repository');
    const free = readFreeBytes(repository.commonDir);
    const evidence = `${formatSize(free)} free`;
    const fix = 'Free some space; orch cleanup --dry-run says what orch could let go of';
    if (free < 20 * megabyte) return fail(evidence, fix);
    return free < 200 * megabyte ? warn(evidence, fix) : ok(evidence);
  },
};

const orchestrationYaml: Check = {
  name: 'ORCHESTRATION.yaml',
  look: ({ repository, clock }) => {
    const found = repository.worktree && readOrchestrationYaml(repository.worktree, clock.now());
    if (!found) return ok('none');
    if ('problem' in found)
      return warn(found.problem, 'Fix the file; until then nothing is read from it or written to it');
    return ok('readable');
  },
};

export const surroundings: readonly Check[] = [
  node,
  git,
  repositoryCheck,
  config,
  foreignHooks,
  loose,
  disk,
  orchestrationYaml,
];
