import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';
import { dependenciesYaml, tasksYaml } from './spec-texts.ts';

export { dependenciesYaml, tasksYaml };

export const specFolder = 'specs/active/auth-system';

export function writeSpec(
  { folder }: Pick<TestRepository, 'folder'>,
  tasks = tasksYaml,
  dependencies = dependenciesYaml,
  spec = specFolder,
): void {
  mkdirSync(join(folder, spec), { recursive: true });
  writeFileSync(join(folder, spec, 'tasks.yaml'), tasks);
  writeFileSync(join(folder, spec, 'dependencies.yaml'), dependencies);
}

/** A repository on a branch of its own, with a spec that is committed. */
export function makeSpecRepository(): TestRepository {
  const repository = makeRepositoryWithCommit();
  repository.git('config', 'user.name', 'A User');
  repository.git('config', 'user.email', 'user@example.com');
  repository.git('checkout', '--quiet', '-b', 'feat/auth');
  writeSpec(repository);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'spec');
  return repository;
}

export function readSpecFile({ folder }: Pick<TestRepository, 'folder'>, name: string): string {
  return readFileSync(join(folder, specFolder, name), 'utf8');
}
