import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { engines, fail, listFiles, readRefs, save } from '../support/checkpoints.ts';
import { orchJson } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

const invalidEpics: { readonly [what: string]: string } = {
  'a path upwards': '../x',
  'a path to the root': '/etc/passwd',
  'a path': 'a/b',
  'an option': '-x',
  'a range': 'a..b',
  'a ref expression': 'x@{1}',
  'a lock file': 'x.lock',
  'a device of Windows': 'CON',
  'a device with an extension': 'nul.txt',
  'two words': 'a b',
  'two lines': 'a\nb',
  'a command': '$(touch pwned)',
  'a command in backticks': '`touch pwned`',
  'a hidden file': '.x',
  'a dot at the end': 'x.',
  'dots only': '..',
  'an escape sequence': '\u001b[31mx',
  'letters of elsewhere': 'grüße',
  'no letter we know': '日本',
  nothing: '',
  '65 characters': 'a'.repeat(65),
  'a cut that ends in a lock file': `${'a'.repeat(59)}.lock-and-more`,
};

/** The id a hint proposes. */
function suggestionOf(hint: string | null): string {
  return /--epic (\S+)$/.exec(hint ?? '')?.[1] ?? '';
}

describe('I9: an epic id', () => {
  it('that could be anything else is refused, with one that can be used, and nothing is written', () => {
    const refusing = makeRepositoryWithCommit();
    const following = makeRepositoryWithCommit();
    const before = listFiles(refusing.home);
    const suggestions = new Set<string>();
    for (const [what, epic] of Object.entries(invalidEpics)) {
      const error = fail(refusing, ['checkpoint', 'create', `--epic=${epic}`]);
      expect({ what, status: error.status, code: error.code }).toEqual({
        what,
        status: 2,
        code: 'EPIC_ID_INVALID',
      });
      suggestions.add(suggestionOf(error.hint));
    }
    expect(listFiles(refusing.home)).toEqual(before);
    for (const epic of suggestions) {
      const args = ['checkpoint', 'create', '--epic', epic];
      const { checkpoint } = orchJson<{ checkpoint: { epicId: string } }>(following, args);
      expect(checkpoint.epicId).toBe(epic);
    }
  });

  it('that differs from an existing one only by case is refused, with the existing one', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    const before = listFiles(join(repository.folder, '.git'));
    for (const engine of engines) {
      const args = ['checkpoint', 'create', '--epic', 'X'];
      const error = fail(repository, args, { env: { ORCH_ENGINE: engine } });
      expect(error).toMatchObject({ status: 2, code: 'EPIC_ID_INVALID', data: { existing: 'x' } });
      expect(suggestionOf(error.hint)).toBe('x');
    }
    expect(listFiles(join(repository.folder, '.git'))).toEqual(before);
  });

  it('is checked by every command, and in the environment', () => {
    const repository = makeRepositoryWithCommit();
    for (const command of ['create', 'list', 'show', 'verify']) {
      const error = fail(repository, ['checkpoint', command, '--epic', '../x']);
      expect(error).toMatchObject({ status: 2, code: 'EPIC_ID_INVALID' });
    }
    const env = { ORCH_EPIC: '../x' };
    expect(fail(repository, ['checkpoint', 'create'], { env }).code).toBe('EPIC_ID_INVALID');
    expect(fail(repository, ['checkpoint', 'list', 'a/b']).code).toBe('EPIC_ID_INVALID');
  });

  it('of any allowed shape makes a ref of this name', () => {
    const repository = makeRepositoryWithCommit();
    const valid = ['0', 'a.b_c-d', 'HEAD', 'constructor', 'z'.repeat(64)];
    for (const epic of valid) orchJson(repository, ['checkpoint', 'create', '--epic', epic]);
    const names = repository.git('for-each-ref', '--format=%(refname:lstrip=3)', 'refs/orchestration/epics');
    expect(names.split('\n').sort()).toEqual(valid.toSorted());
  });
});

describe('a branch that is no epic id', () => {
  it.each([
    ['feat/login', 'feat-login'],
    ['feat/#12_über.lock-x', 'feat-12_-ber.lock-x'],
  ])('%s becomes the epic %s', (branch, epic) => {
    const repository = makeRepositoryWithCommit();
    repository.git('checkout', '--quiet', '-b', branch);
    const made = orchJson<{ checkpoint: { epicId: string } }>(repository, ['checkpoint', 'create']);
    expect(made.checkpoint.epicId).toBe(epic);
  });

  it.each(['日本', 'con'])('%s gives way to a made-up one', (branch) => {
    const repository = makeRepositoryWithCommit();
    repository.git('checkout', '--quiet', '-b', branch);
    const made = orchJson<{ checkpoint: { epicId: string } }>(repository, ['checkpoint', 'create']);
    expect(made.checkpoint.epicId).toMatch(/^epic-[a-z0-9]{6}$/);
    expect(readRefs(repository)).toContain(`refs/orchestration/epics/${made.checkpoint.epicId}`);
  });
});
