import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateResumeBrief } from '../../src/checkpoint/brief.ts';
import { mergeHistory } from '../../src/checkpoint/merge.ts';
import { parseCheckpointId, parseOid, parseWriterId } from '../../src/ids.ts';
import { loadCheckpoint } from '../../src/index.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { epic, note, saveFacts, withOrch } from '../support/store.ts';
import { facts, first, tellStories } from '../support/stories.ts';

const ref = `refs/orchestration/epics/${epic}`;
const path = `.orchestration/checkpoints/${epic}/brief.md`;
const briefAt = ({ git }: TestRepository, commit = ref) => git('show', `${commit}:${path}`);

describe('the brief in a checkpoint', () => {
  it.each(['native', 'isomorphic'] as const)(
    'can be read with git, in each as it was then (%s)',
    async (engine) => {
      const repository = makeRepositoryWithCommit();
      const options = { cwd: repository.folder, engine };
      await saveFacts(options, [note('one')]);
      await saveFacts(options, [facts.blocker('b', 'no key'), facts.decision('d', 'wait', 'it comes')]);
      await saveFacts(options, [facts.blocker('b', 'no key', 1)]);

      expect(briefAt(repository, `${ref}~2`)).toContain('# Brief: e, session 1 → 2\n**Ended:** paused ');
      expect(briefAt(repository, `${ref}~2`)).not.toContain('Blocked');
      expect(briefAt(repository, `${ref}~1`)).toContain(
        '\n**Blocked by:** no key\n**Decided:** wait (it comes)\n',
      );
      expect(briefAt(repository)).not.toContain('Blocked');
      const head = repository.git('rev-parse', '--short=12', 'HEAD');
      expect(briefAt(repository)).toContain(`it stood on commit \`${head}\` on \`main\``);
      const { document } = await withOrch(options, (orch) => loadCheckpoint(epic, 'latest', orch));
      const again = generateResumeBrief({
        epicId: epic,
        state: document.state,
        checkpoint: { ...document, gates: 'unknown' },
      });
      expect(`${briefAt(repository)}\n`).toBe(again.markdown);
      expect(repository.git('fsck', '--strict')).toBe('');
    },
  );

  it('is of the last part where the events take several checkpoints', async () => {
    const repository = makeRepositoryWithCommit();
    const many = Array.from({ length: 450 }, (_, at) => note(String(at)));
    expect(await saveFacts({ cwd: repository.folder }, many)).toBe(3);
    expect(briefAt(repository)).toContain('note 449');
    expect(briefAt(repository, `${ref}~2`)).not.toContain('note 449');
  });

  it('tells of both machines after a merge', async () => {
    const repository = makeRepositoryWithCommit();
    const options = { cwd: repository.folder };
    await saveFacts(options, [note('before')]);
    const cwd = join(makeFolder(), 'clone');
    repository.git('clone', '--quiet', '.', cwd);
    repository.git('push', '--quiet', cwd, `${ref}:${ref}`);
    await saveFacts(options, [note('here')]);
    await saveFacts({ cwd, writer: parseWriterId('w-there') }, [note('there')]);
    repository.git('fetch', '--quiet', cwd, ref);
    const theirs = parseOid(repository.git('rev-parse', 'FETCH_HEAD'));
    await withOrch(options, (orch) => mergeHistory(orch.git, epic, theirs));
    expect(repository.git('rev-list', '--count', ref)).toBe('4');
    for (const text of ['note before', 'note here', 'note there'])
      expect(briefAt(repository)).toContain(text);
  });
});

it('its commands show the code and bring it back', () => {
  const repository = makeRepositoryWithCommit();
  const { git } = repository;
  repository.write('README', 'saved\n');
  const snapshot = parseOid(git('commit-tree', '-p', 'HEAD', '-m', 'x', writeTree(repository)));
  repository.write('README', 'green\n');
  const green = writeTree(repository);
  repository.write('README', 'broken\n');
  git('read-tree', 'HEAD');

  const lastGreen = facts.set('lastGreen', { id: 'ckpt-00000001-aaaaaa', seq: 1, tree: green });
  const { markdown } = generateResumeBrief({
    epicId: epic,
    state: tellStories({ session: first, number: 1, said: [['09:00', lastGreen]] }),
    checkpoint: {
      id: parseCheckpointId('ckpt-00000002-aaaaaa'),
      seq: 2,
      timestamp: '2026-03-02T09:00:00Z',
      snapshot,
      gates: 'red',
      gitCommit: parseOid(git('rev-parse', 'HEAD')),
      branch: 'main',
    },
  });
  const commands = [...markdown.matchAll(/`git ([^`]+)`/g)].map(([, command = '']) => command.split(' '));
  const [sinceSaved = [], restore = [], sinceGreen = []] = commands;
  expect(commands).toHaveLength(3);
  expect(git(...sinceSaved)).toContain('-saved\n+broken');
  expect(git(...sinceGreen)).toContain('-green\n+broken');
  git(...restore.map((word) => word.replace('<path>', 'README')));
  expect(git(...sinceSaved)).toBe('');
});

/** The tree of what is on disk. */
function writeTree({ git }: TestRepository): string {
  git('add', '.');
  return git('write-tree');
}
