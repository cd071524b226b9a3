import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { runOrch } from './orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';

const node = JSON.stringify({ scripts: { test: 'node --test', lint: 'node --check a.js' } });

/** A machine with the programs given, and a repository with gates on it. */
export function makeMachine(programs: Record<string, string> = { claude: '2.1.325 (Claude Code)' }) {
  const repository = makeRepositoryWithCommit();
  repository.write('package.json', node);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'gates');
  const bin = join(repository.home, 'bin');
  mkdirSync(bin);
  for (const [name, says] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
  // Only git and what is given: an agent of the developer's is not to be found.
  const git = spawnSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).stdout.trim();
  for (const program of [git, '/bin/sh']) symlinkSync(program, join(bin, program.split('/').at(-1) ?? ''));
  const env = { PATH: bin };
  const init = (...args: string[]) => runOrch(repository, ['init', ...args], { env });
  const read = (path: string) => readFileSync(join(repository.folder, path), 'utf8');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(repository.folder, path)), { recursive: true });
    repository.write(path, text);
  };
  return { ...repository, env, bin, init, read, write };
}

/** Every file of the working tree and of the home that is not git's or orch's own, with its bytes and mode. */
export function listFiles({ home, folder }: TestRepository): Record<string, string> {
  const all = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !relative(folder, path).startsWith('.git/') || path.endsWith('info/exclude'));
  return Object.fromEntries(
    all.map((path) => [relative(home, path), `${statSync(path).mode} ${readFileSync(path, 'base64')}`]),
  );
}
