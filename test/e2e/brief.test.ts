import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateResumeBrief } from '../../src/checkpoint/brief/write-brief.ts';
import { mergeHistory } from '../../src/checkpoint/merge.ts';
import { parseOid, parseWriterId } from '../../src/ids.ts';
import { loadCheckpoint } from '../../src/index.ts';
import { create } from '../support/checkpoints.ts';
import { makeAgent } from '../support/hooked-agent.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { epic, note, saveFacts, withOrch } from '../support/store.ts';
import { facts } from '../support/stories.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

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

      expect(briefAt(repository, `${ref}~2`)).toContain('# Brief: e, after session 1\n**State:** paused ');
      expect(briefAt(repository, `${ref}~2`)).not.toContain('Blocked');
      expect(briefAt(repository, `${ref}~1`)).toMatch(
        /\n\*\*Decided:\*\* wait \(s\d: it comes\)\n\*\*Blocked by:\*\* no key \(s\d\)\n/,
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
    await withOrch(options, (orch) => mergeHistory(orch, epic, theirs));
    expect(repository.git('rev-list', '--count', ref)).toBe('4');
    for (const text of ['note before', 'note here', 'note there'])
      expect(briefAt(repository)).toContain(text);
  });
});

describe('the commands in a brief', () => {
  const briefOf = (repository: TestRepository) => runOrch(repository, ['brief', '-e', 'x']).stdout;
  const commandsIn = (brief: string) =>
    [...brief.matchAll(/`orch ([^`]+)`/g)].map(([, command = '']) => command.split(' '));

  it('show the code and bring it back, untracked files and the last green one included', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('README', 'green\n');
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', 'gates: [{ name: check, run: "true" }]\n');
    expect(runOrch(repository, ['baseline', '-e', 'x'], { env: { ORCH_TRUST: '1' } }).status).toBe(0);
    repository.write('README', 'saved\n');
    repository.write('untracked', 'saved\n');
    create(repository, 'two');
    repository.write('README', 'broken\n');
    repository.write('untracked', 'broken\n');

    const [sinceSaved = [], restore = [], sinceGreen = [], ...others] = commandsIn(briefOf(repository));
    expect(others).toEqual([]);
    expect(runOrch(repository, sinceSaved).stdout.match(/-saved\n\+broken/g)).toHaveLength(2);
    expect(runOrch(repository, sinceGreen).stdout).toContain('-green\n+broken');
    const words = restore.flatMap((word) =>
      word === '--' ? ['-y', '--'] : word === '<path>' ? ['.'] : word,
    );
    expect(runOrch(repository, words).status).toBe(0);
    expect(runOrch(repository, sinceSaved)).toMatchObject({ status: 0, stdout: '' });
  });

  it('show after a crash what the files were when they were last saved', async () => {
    const repository = makeRepositoryWithCommit();
    repository.write('README', 'saved\n');
    const orch = startSupervisor(repository, ['start', '-e', 'x', '--json']);
    await waitUntil(() => orch.stdout().includes('\n'));
    orchJson(repository, ['record', 'note', 'half done']);
    orch.signal('SIGKILL');
    await orch.ended;
    repository.write('README', 'torn\n');
    const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
    expect(agent.call('SessionStart', { source: 'startup' }).systemMessage).toMatch(
      /Session 1 was interrupted .*\. 1 file on disk differs from ckpt 1, the last one with code: orch diff 1 -e x\.$/,
    );
    const [sinceSaved = []] = commandsIn(briefOf(repository));
    for (const args of [sinceSaved, ['diff', 'latest'], ['diff', 's1']])
      expect(runOrch(repository, args).stdout).toContain('-saved\n+torn');
    expect(orchJson(repository, ['restore', 'latest', '-y'])).toMatchObject({ changed: ['README'] });
    expect(errorOf(runOrch(repository, ['diff', '2', '--json'])).code).toBe('CHECKPOINT_NOT_FOUND');
  });
});
