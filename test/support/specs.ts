import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';

/** Of the documented example: four tasks, each after the one before it, and a fifth beside the fourth. */
export const tasksYaml = `# The tasks of the authentication system
spec: auth-system
tasks:
  - id: T001
    content: "Add user model"
    status: pending # soon
    evidence:
      commits: []
      files: []
  - id: T002
    content: "Add authentication endpoint"
    status: pending
  - id: T003
    content: "Add session management"
    status: pending
  - id: T004
    content: "Add logout endpoint"
    status: pending
    depends_on: [T003]
  - id: T005
    content: "Write it down"
    status: pending
    depends_on: [T003]
`;

export const dependenciesYaml = `phases:
  - id: core
    name: Core
    tasks:
      - {id: T001, file: src/auth/user.py}
      - {id: T002, file: src/auth/auth.py, depends_on: [T001]}
      - {id: T003, file: src/auth/session.py, depends_on: [T002]}
  - id: rest
    name: The rest
    tasks:
      - {id: T004, file: src/auth/logout.py}
      - {id: T005, file: docs/auth.md}
`;

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
