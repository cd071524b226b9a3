import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryAt } from '../support/checkpoints.ts';
import { runOrch } from '../support/orch.ts';
import { makeFolder, type TestRepository } from '../support/repository.ts';
import { makeSpecRepository } from '../support/specs.ts';

/** A program that notes under which name it was called, and fails. */
function makeTrace({ home }: TestRepository): { program: string; ran: () => string } {
  const trace = join(home, 'ran');
  const program = join(home, 'program');
  writeFileSync(program, `#!/bin/sh\necho "$0 $@" >>'${trace}'\nexit 1\n`);
  chmodSync(program, 0o755);
  return { program, ran: () => (existsSync(trace) ? readFileSync(trace, 'utf8') : '') };
}

function addRemote(repository: TestRepository): void {
  const hub = join(makeFolder(), 'hub.git');
  repository.git('init', '--quiet', '--bare', hub);
  repository.git('remote', 'add', 'origin', hub);
}

const commands: readonly (readonly string[])[] = [
  ['checkpoint', 'create', '-e', 'x', '-r', 'first'],
  ['start', '-e', 'x', '--no-baseline', '--', 'sh', '-c', 'echo more >>more'],
  ['status'],
  ['log', 'x'],
  ['brief', '-e', 'x'],
  ['diff', '1', '-e', 'x'],
  ['diff', '1', '2', '-e', 'x', '--stat'],
  ['restore', '1', '-e', 'x', '-y'],
  ['restore', '--undo', '-y'],
  ['restore', '1', '-e', 'x', '--to', '../elsewhere'],
  ['record', 'note', 'text', '-e', 'x'],
  ['checkpoint', 'verify', '-e', 'x'],
  ['baseline', '-e', 'x'],
  ['sync', '-y'],
  ['doctor', '--fix'],
  ['cleanup', '-y'],
  ['batch', 'status'],
  ['batch', 'next'],
  ['batch', 'complete', 'T001', '--commit'],
];

it('no command runs the file system monitor that a repository names', () => {
  const repository = makeSpecRepository();
  addRemote(repository);
  const { program, ran } = makeTrace(repository);
  repository.write('work', 'work\n');
  mkdirSync(join(repository.folder, 'src/auth'), { recursive: true });
  repository.write('src/auth/user.py', 'work\n');
  repository.git('config', 'core.fsmonitor', program);
  for (const args of commands) {
    const { status, stderr } = runOrch(repository, args);
    expect([args, status, status === 70 ? stderr : '', ran()]).toEqual([args, expect.any(Number), '', '']);
    if (args.includes('T001')) expect(status).toBe(0);
  }
  repository.git('status'); // which does run it: the trace works
  expect(ran()).not.toBe('');
});

it('what orch looks at runs no other program that a repository names either', () => {
  const origin = makeSpecRepository();
  runOrch(origin, ['checkpoint', 'create', '-e', 'theirs', '-r', 'to be fetched']);
  const home = makeFolder();
  const folder = join(home, 'clone');
  origin.git('clone', '--quiet', '--shared', origin.folder, folder);
  const repository = repositoryAt(home, folder);
  const { program, ran } = makeTrace(repository);
  repository.write('.gitattributes', '* diff=traced\n');
  for (const name of [
    'core.pager',
    'core.editor',
    'core.alternateRefsCommand',
    'diff.external',
    'diff.traced.textconv',
    'gpg.program',
    'interactive.diffFilter',
  ])
    repository.git('config', name, program);
  repository.git('config', 'log.showSignature', 'true');
  rmSync(join(repository.folder, '.git/hooks'), { recursive: true, force: true });
  const looking = commands.filter(([name]) => name !== 'batch');
  for (const args of looking) {
    runOrch(repository, args[0] === 'start' ? args : [...args, '--json']);
    expect([args, ran()]).toEqual([args, '']);
  }
  repository.tryGit('fetch', '--quiet', origin.folder, 'HEAD'); // the trace works
  expect(ran()).not.toBe('');
});
