import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRepository } from './repository.ts';

/** All that is stored below `.git`: every object git has, and every file of orch's own, each with its name. */
export function readAllStored({
  folder,
}: TestRepository): { readonly name: string; readonly text: string }[] {
  const git = (args: readonly string[]) =>
    execFileSync('git', args, { cwd: folder, encoding: 'latin1', maxBuffer: 1e9 });
  const objects = git(['cat-file', '--batch-all-objects', '--batch', '--unordered']);
  const home = join(folder, '.git', 'orchestration');
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return [
    { name: 'objects', text: objects },
    ...files.map(({ parentPath, name }) => {
      return { name, text: readFileSync(join(parentPath, name), 'latin1') };
    }),
  ];
}
