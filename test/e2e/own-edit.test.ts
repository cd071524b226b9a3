import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultSettings } from '../../src/journal/session-settings.ts';
import { openOrch } from '../../src/orch.ts';
import { record } from '../../src/record/record.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { start } from '../support/sessions.ts';

const due = { trigger: 'interval', reason: null, onlyIfChanged: true } as const;

it('a checkpoint by the clock is not called for by what orch itself wrote into ORCHESTRATION.yaml', async () => {
  const repository = makeRepositoryWithCommit();
  const path = join(repository.folder, 'ORCHESTRATION.yaml');
  repository.write('ORCHESTRATION.yaml', '# mine\nworkflow: { status: ACTIVE }\n');
  const orch = await openOrch({ cwd: repository.folder });
  try {
    const { target } = await start(orch, { settings: defaultSettings });
    const marked = readFileSync(path, 'utf8');
    expect(marked).toContain('latest_checkpoint_id');
    const look = async () => (await record(orch, target, [], due)).stored?.checkpoint.seq ?? null;
    expect([await look(), await look()]).toEqual([null, null]);
    expect(readFileSync(path, 'utf8')).toBe(marked);
    // What the user writes into it is work; so is another commit with the same files.
    repository.write('ORCHESTRATION.yaml', marked.replace('ACTIVE', 'DONE'));
    expect([await look(), await look()]).toEqual([2, null]);
    repository.git('commit', '--quiet', '--allow-empty', '--message', 'second');
    expect([await look(), await look()]).toEqual([3, null]);
  } finally {
    orch.close();
  }
});
