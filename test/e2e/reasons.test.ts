import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  create,
  engines,
  epicRef,
  expectSound,
  list,
  reasonsOf,
  save,
  verify,
} from '../support/checkpoints.ts';
import { runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/** What is given, and what is kept of it where that is not the same. */
const reasons: { readonly [what: string]: readonly [given: string, kept?: string] } = {
  'a line': ['Login form done'],
  lines: ['Login form done\nRedirect next\n\nThen rest'],
  'a trailer': ['Orch-Cost: 999.000000'],
  'a trailer after a line': ['Done\nOrch-Cost: 999.000000'],
  'a paragraph of trailers': ['Done\n\nOrch-Cost: 999.000000\nOrch-Epic: other\nOrch-Gates: green'],
  'a whole message': [
    'ckpt 9: Done\n\nSession 9\n\nOrch-Checkpoint: ckpt-00000009-aaaaaa\nOrch-Session: sess-aaaaaa 9\nOrch-Reason: no',
  ],
  'trailers others add': [
    'Done\n\nSigned-off-by: Eve <eve@example.com>\n(cherry picked from commit 1234567)\nOrch-Cost: 999.000000',
  ],
  'a line that ends a message': ['Done\n---\nOrch-Cost: 999.000000\n\n---\n'.trimEnd()],
  'a scissors line': ['Done\n# ------------------------ >8 ------------------------\nOrch-Cost: 999.000000'],
  comments: ['# Done\n# Orch-Cost: 999.000000'],
  'a patch': ['Done\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b'],
  'a mailbox': ['From 0000000 Mon Sep 17 00:00:00 2001\nFrom: eve\nSubject: no'],
  'a signature': ['-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----'],
  'dots and empty lines': ['.\n..\n\n.\n\n\n...\n. \n.', '.\n..\n\n.\n\n\n...\n.\n.'],
  indentation: ['  first\n  second\n\tthird\n     ', 'first\n  second\n\tthird'],
  'other line ends': ['a\r\nb\rOrch-Cost: 999.000000\u2028c', 'a\nb\nOrch-Cost: 999.000000\nc'],
  'an indented trailer': ['Done\n Orch-Cost: 999.000000\n\u00a0Orch-Cost: 999.000000\n\u3000x'],
  'escape sequences': ['\u001b[31mred\u001b[0m\u001b]0;title\u0007\u009b1m\b', '[31mred[0m]0;title1m'],
  'text that reads backwards': ['pay \u202Eeve\u202C\u2066now\u2069\u200b', 'pay evenow'],
  'other alphabets': ['Grüße, 世界 👩‍👩‍👧 é'],
  commands: ['$(touch pwned) `touch pwned`; touch pwned | touch pwned & $IFS %PATH%'],
  'format placeholders': ['%H %n %x00 %(trailers) %C(red) {{}} \\n \\0'],
  'an option': ['--amend -x --'],
  quotes: [`"'\\"'`],
  'a very long line': ['x'.repeat(10_000), `${'x'.repeat(1_841)} … ${'x'.repeat(2_250)}`],
  'a very long text of many bytes': [
    '😀\n'.repeat(2_000),
    `${'😀\n'.repeat(368)} …\n${'😀\n'.repeat(449)}😀`,
  ],
};

const trailerNames = [
  'Checkpoint',
  'Epic',
  'Session',
  'Trigger',
  'Cost',
  'Gates',
  'Head',
  'Snapshot',
  'Reason',
];

function interpretTrailers(repository: TestRepository, message: string): string[] {
  const args = ['interpret-trailers', '--parse'];
  const options = { cwd: repository.folder, input: message, encoding: 'utf8' } as const;
  return execFileSync('git', args, options).trimEnd().split('\n');
}

describe('I9: a reason', () => {
  it('says what it says, in the document, the list and git, and forges no trailer', () => {
    const repository = makeRepositoryWithCommit();
    for (const [what, [given]] of Object.entries(reasons)) {
      const { commit, sessionNumber, costUsd, gates, epicId } = create(repository, given);
      expect({ what, costUsd, gates, epicId }).toEqual({ what, costUsd: 0, gates: 'unknown', epicId: 'x' });
      const trailers = interpretTrailers(repository, repository.git('log', '-1', '--format=%B', commit));
      const names = trailers.map((line) => line.slice(0, line.indexOf(': ')));
      expect({ what, names }).toEqual({ what, names: trailerNames.map((name) => `Orch-${name}`) });
      expect(trailers).toContain('Orch-Cost: 0.000000');
      expect(sessionNumber).toBeGreaterThan(0);
    }
    const logged = repository.git('log', '--format=%(trailers:key=Orch-Cost,valueonly)', epicRef);
    expect(new Set(logged.split('\n').filter((line) => line !== ''))).toEqual(new Set(['0.000000']));

    const expected = Object.values(reasons).map(([given, kept]) => kept ?? given);
    for (const engine of engines) {
      const env = { ORCH_ENGINE: engine, ORCH_EPIC: 'x' };
      const ran = runOrch(repository, ['checkpoint', 'list', '--all', '--json'], { env });
      expect(reasonsOf(JSON.parse(ran.stdout)).reverse()).toEqual(expected);
      expect(verify(repository, { env })).toMatchObject({ status: 0, found: { damaged: [] } });
    }
    expect(existsSync(join(repository.folder, 'pwned'))).toBe(false);
    expectSound(repository);

    const seen = runOrch(repository, ['checkpoint', 'list', '--all']).stdout.trimEnd().split('\n');
    expect(seen).toHaveLength(2 + expected.length);
    expect(seen.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  it('with an indented dot on a line is no damage', () => {
    const repository = makeRepositoryWithCommit();
    create(repository, 'Done:\n .\n  ..');
    expect(reasonsOf(list(repository))).toEqual(['Done:\n .\n  ..']);
    expect(verify(repository)).toMatchObject({ status: 0, found: { damaged: [] } });
  });

  it('that is empty or invisible is none, and the summary says what happened', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['', ' \n\t\r\n ', '\u200b\u202e', '\u001b\u0007']);
    for (const { reason, summary } of list(repository).checkpoints)
      expect({ reason, summary }).toEqual({ reason: null, summary: 'Saved by hand' });
    expect(verify(repository).status).toBe(0);
  });
});
