import { join } from 'node:path';
import { parseConfigFile, readLastConfig } from '../../config/load.ts';
import { hasCode } from '../../errors.ts';
import { readShallow } from '../../git/objects/walk-history.ts';
import { askVersion, listWorktrees, readGitConfig } from '../../git/repository-facts.ts';
import { countDead } from '../../notify/notify-api.ts';
import { readOrchestrationYaml } from '../../orchestration-file/write-back.ts';
import { listFolder, statIfThere } from '../../system/disk.ts';
import { isWritable, readFreeBytes } from '../../system/files-in-bulk.ts';
import { findProgram, isExecutable } from '../../system/process/spawn.ts';
import { count, formatSize } from '../../units.ts';
import { type Check, type DoctorPorts, fail, ok, warn } from './finding.ts';

const neededNode = [20, 19];
/** The first version that can wait for the disk when it writes loose objects and refs. */
const durableGit = [2, 36];
/** The first version that packs loose objects without pruning. */
const neededGit = [2, 30];

function isBelow(version: string, least: readonly number[]): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least;
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

const node: Check = {
  name: 'node',
  run: ({ caller }) =>
    isBelow(caller.node, neededNode)
      ? fail(`node ${caller.node}`, `Install node ${neededNode.join('.')} or newer`)
      : ok(caller.node),
};

const git: Check = {
  name: 'git',
  run: async ({ git: engine, repository }) => {
    const path = findProgram('git');
    if (engine.name !== 'native')
      return warn(
        `using the ${engine.name} engine${path ? ` although ${path} is installed` : ', because git was not found'}: no snapshots, no sync`,
        path ? 'Set ORCH_ENGINE=auto, or unset it' : 'Install git',
      );
    const version = await askVersion(repository);
    const evidence = `${version}, ${path ?? 'git'}`;
    if (isBelow(version, neededGit)) return fail(evidence, `Install git ${neededGit.join('.')} or newer`);
    if (isBelow(version, durableGit))
      return warn(
        `${evidence}: a power loss may lose what it has just written`,
        `Install git ${durableGit.join('.')} or newer`,
      );
    return ok(evidence);
  },
};

const repositoryCheck: Check = {
  name: 'repository',
  run: async ({ repository, git: engine }) => {
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
  run: async ({ repository, listUnapproved }) => {
    if (repository.worktree === null) return ok('none in a bare repository');
    try {
      // Not from the cache, which would be written: a check changes nothing.
      const { config: found, path } = await parseConfigFile(repository.worktree);
      const waiting = (await listUnapproved(found)).map(({ key }) => key);
      if (waiting.length > 0)
        return warn(
          `${waiting.join(', ')} in ${path}: not used, because you have not approved it`,
          'Review it and decide: orch init --no-claude --no-codex',
        );
      return ok(path === null ? 'none; using the defaults' : path);
    } catch (error) {
      if (!hasCode(error, 'CONFIG_INVALID')) throw error;
      return fail(error.message, error.hint ?? 'Fix the file');
    }
  },
};

/** The git commands that orch runs ignore hooks; those that the user runs on orch's refs do not. */
const foreignHooks: Check = {
  name: 'foreign hooks',
  run: async (ports) => {
    const settings = await readSettings(ports);
    const hooksPath = settings.get('core.hookspath');
    const folder = hooksPath ?? join(ports.repository.commonDir, 'hooks');
    const hooks = ['reference-transaction', 'pre-push'].filter((name) => isExecutable(join(folder, name)));
    const fsmonitor = settings.get('core.fsmonitor');
    const facts = [
      hooksPath === undefined ? null : `core.hooksPath is ${hooksPath}`,
      ...hooks.map((name) => `there is a hook ${join(folder, name)}`),
      fsmonitor && fsmonitor !== 'false' ? `core.fsmonitor is ${fsmonitor}` : null,
    ].filter((fact) => fact !== null);
    if (facts.length === 0) return ok('none');
    const evidence = `${facts.join('; ')}; orch ignores them`;
    if (!hooks.includes('reference-transaction')) return ok(evidence);
    return warn(
      evidence,
      'The hook runs when you push, fetch or delete refs/orchestration yourself, and may refuse it: make it accept those refs',
    );
  },
};

const loose: Check = {
  name: 'loose objects',
  run: async (ports) => {
    // Estimated as git does: ids are spread evenly, so one of the 256 folders stands for all.
    const about = listFolder(join(ports.repository.commonDir, 'objects', '17')).length * 256;
    const evidence = about === 0 ? 'few' : `about ${about}`;
    const isOff = (await readSettings(ports)).get('gc.auto') === '0';
    if (!isOff || about < 20_000) return ok(`${evidence}${isOff ? '; gc.auto is 0' : ''}`);
    return warn(
      `${evidence}, and gc.auto is 0, so git does not pack them`,
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
  run: ({ repository, home }) => {
    const folders = [...['objects', 'refs'].map((name) => join(repository.commonDir, name)), home];
    const closed = folders.find((folder) => statIfThere(folder) !== null && !isWritable(folder));
    if (closed !== undefined)
      return fail(`${closed} cannot be written to`, 'Run orch as the user who owns the repository');
    const free = readFreeBytes(repository.commonDir);
    const evidence = `${formatSize(free)} free`;
    const fix = 'Free some space. See what orch could remove: orch cleanup --dry-run';
    if (free < 20 * megabyte) return fail(evidence, fix);
    return free < 200 * megabyte ? warn(evidence, fix) : ok(evidence);
  },
};

const orchestrationYaml: Check = {
  name: 'ORCHESTRATION.yaml',
  run: async ({ repository: { worktree }, home, clock }) => {
    if (worktree === null) return ok('none');
    // Like the check of the config, it must not write the cache.
    const { config: settings } = await parseConfigFile(worktree).catch(() => ({
      config: readLastConfig({ worktree, home }),
    }));
    if (settings.orchestrationFile === 'off') return ok('off in the config');
    const found = readOrchestrationYaml(worktree, clock.now());
    if (!found) return ok('none');
    if ('problem' in found)
      return warn(found.problem, 'Fix the file: until then, orch neither reads nor writes it');
    return ok('readable');
  },
};

const notices: Check = {
  name: 'notices',
  run: ({ home }) => {
    const dead = countDead(home);
    if (dead === 0) return ok('none that could not be sent');
    return warn(
      `${count(dead, 'notice')} could not be sent`,
      'See why: orch notify. Send again: orch notify replay',
    );
  },
};

export const environmentChecks: readonly Check[] = [
  node,
  git,
  repositoryCheck,
  config,
  foreignHooks,
  loose,
  disk,
  orchestrationYaml,
  notices,
];
