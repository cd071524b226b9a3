import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noTokens } from '../../src/cost/tokens.ts';
import { readFixture } from '../support/fixtures.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { formatMessage } from '../support/transcripts.ts';

type Imported = {
  imported: {
    model: string;
    costUsd: number;
    unpriced: number;
    input: number;
    output: number;
    cacheRead: number;
  }[];
  skipped: string[];
  unpriced: { model: string; tokens: number }[];
  budget: { spentUsd: number } | null;
  checkpoint: object | null;
};

const importFiles = (repository: TestRepository, ...files: string[]) =>
  orchJson<Imported>(repository, ['cost', 'import', ...files, '-e', 'x']);
const spent = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number } }>(repository, ['cost', '-e', 'x']).budget.spentUsd;

/** A message that costs fifteen dollars a million tokens, in a line of its own. */
const message = (id: string, output: number, model = 'claude-sonnet-4-5') =>
  `${formatMessage({ id, model, tokens: { ...noTokens, output } })}\n`;

function makeTranscripts() {
  const repository = makeRepositoryWithCommit();
  const path = (name: string) => join(repository.home, name);
  writeFileSync(path('a.jsonl'), message('m-1', 100_000) + message('m-1', 100_000) + message('m-2', 100_000));
  // A fork of the first: it begins with what that had said.
  writeFileSync(path('b.jsonl'), message('m-1', 100_000) + message('m-3', 200_000));
  return { repository, path };
}

describe('importing transcripts', () => {
  it('counts each message once, however often and in whichever file it comes', () => {
    const { repository, path } = makeTranscripts();
    expect(importFiles(repository, path('a.jsonl'))).toMatchObject({
      imported: [{ model: 'claude-sonnet-4-5', costUsd: 3 }],
      budget: { spentUsd: 3 },
    });
    expect(importFiles(repository, path('a.jsonl'))).toMatchObject({ imported: [], checkpoint: null });
    expect(importFiles(repository, path('b.jsonl')).imported).toMatchObject([{ costUsd: 3 }]);
    appendFileSync(path('a.jsonl'), message('m-4', 10_000));
    expect(importFiles(repository, path('b.jsonl'), path('a.jsonl')).imported).toMatchObject([
      { costUsd: 0.15 },
    ]);
    expect(spent(repository)).toBe(6.15);
    const { stdout } = runOrch(repository, ['cost', 'import', path('a.jsonl'), '-e', 'x']);
    expect(stdout).toBe('Nothing new: all of it was already counted.\n');
  });

  it('bills nothing twice when what was read is forgotten, and says what to do', () => {
    const { repository, path } = makeTranscripts();
    importFiles(repository, path('a.jsonl'));
    rmSync(join(repository.folder, '.git/orchestration/imports'), { recursive: true });
    const again = runOrch(repository, ['cost', 'import', path('a.jsonl'), path('b.jsonl'), '-e', 'x']);
    expect(again.stderr).toContain('Import the earlier files again');
    expect(again.stdout).toContain('$3.00 counted for x');
    expect(spent(repository)).toBe(6);
  });

  it('leaves what hooks count to them', () => {
    const { repository, path } = makeTranscripts();
    const call = (event: string, fields: object) => {
      const about = { session_id: 'a', transcript_path: path('a.jsonl'), cwd: repository.folder };
      const input = JSON.stringify({ ...about, hook_event_name: event, ...fields });
      const env = { CLAUDE_PID: String(process.pid), ORCH_EPIC: 'x' };
      expect(runOrch(repository, ['hook', 'claude'], { input, env }).status).toBe(0);
    };
    call('SessionStart', { source: 'startup' });
    appendFileSync(path('a.jsonl'), message('m-5', 100_000));
    call('UserPromptSubmit', { prompt: 'Begin' });
    call('SessionEnd', { reason: 'other' });
    expect(spent(repository)).toBe(1.5);
    expect(importFiles(repository, path('a.jsonl'))).toMatchObject({
      imported: [],
      skipped: [path('a.jsonl')],
    });
  });

  it('says what has no price, guesses it, and counts it right once there is a price', () => {
    const { repository, path } = makeTranscripts();
    writeFileSync(path('events.jsonl'), readFixture('codex/exec/work.jsonl'));
    const { stdout, stderr } = runOrch(repository, ['cost', 'import', path('events.jsonl'), '-e', 'x']);
    expect(stdout).toMatch(/codex +~\$\d/);
    expect(stderr).toMatch(/codex has no known price: \d+ tokens count as ~\$\d/);
    expect(runOrch(repository, ['cost', '-e', 'x']).stdout).toMatch(/unpriced +codex \d+ tokens/);
    const guessed = spent(repository);
    expect(guessed).toBeGreaterThan(0);
    mkdirSync(join(repository.folder, '.orchestration'));
    writeFileSync(
      join(repository.folder, '.orchestration/config.yaml'),
      'prices: { codex: { input: 1000, output: 1000, cacheRead: 1000 } }\n',
    );
    const unapproved = runOrch(repository, ['cost', 'budget', '500', '-e', 'x']);
    expect(unapproved).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(
        'prices in .orchestration/config.yaml is not used until you approve it: orch init --no-claude --no-codex',
      ),
    });
    expect(runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']).status).toBe(0);
    expect(runOrch(repository, ['cost', 'budget', '500', '-e', 'x']).status).toBe(0);
    const { input, output, cacheRead } = importFiles(repository, path('events.jsonl')).imported[0] ?? {};
    expect([input, output, cacheRead]).toEqual([0, 0, 0]);
    // A thousand dollars a million tokens, and nothing of the guess beside it.
    expect(spent(repository)).toBeCloseTo((1_210 + 605 + 1_800) / 1_000, 6);
    expect(importFiles(repository, path('events.jsonl')).imported).toEqual([]);
  });

  it('ends with 4 past the budget, and counts nevertheless', () => {
    const { repository, path } = makeTranscripts();
    runOrch(repository, ['cost', 'budget', '1', '-e', 'x']);
    const ran = runOrch(repository, ['cost', 'import', path('a.jsonl'), '-e', 'x', '--json']);
    expect({ status: ran.status, stdout: ran.stdout }).toEqual({ status: 4, stdout: '' });
    expect(errorOf(ran)).toMatchObject({ code: 'BUDGET_EXCEEDED', data: { imported: [{ costUsd: 3 }] } });
    expect(spent(repository)).toBe(3);
    expect(importFiles(repository, path('a.jsonl'))).toMatchObject({
      imported: [],
      budget: { level: 'exceeded' },
    });
  });

  it.each([
    ['is not there', (path: (name: string) => string) => path('missing.jsonl')],
    ['is a folder', (path: (name: string) => string) => path('.')],
  ])('refuses a file that %s', (_, choose) => {
    const { repository, path } = makeTranscripts();
    const ran = runOrch(repository, ['cost', 'import', path('a.jsonl'), choose(path), '-e', 'x', '--json']);
    expect([ran.status, errorOf(ran).code]).toEqual([2, 'USAGE']);
    expect(orchJson(repository, ['status'])).toEqual({ epics: [], waiting: [], faults: [] });
  });
});

it.each([
  ['notes.txt', 'hello\nthere\n', 'is not a transcript'],
  ['other.jsonl', '{"a":1}\n', 'is not a transcript'],
  ['empty.jsonl', '\n', 'is empty'],
])('says that %s is no transcript, and counts nothing', (name, content, problem) => {
  const { repository, path } = makeTranscripts();
  writeFileSync(path(name), content);
  const ran = runOrch(repository, ['cost', 'import', path('a.jsonl'), path(name), '-e', 'x', '--json']);
  expect(ran).toMatchObject({ status: 2, stdout: '' });
  expect(errorOf(ran)).toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining(`${name} ${problem}`),
  });
  expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
});
