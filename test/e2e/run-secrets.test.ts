import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn } from '../support/plans.ts';

it('I8: what a task prints or makes is kept without its secrets: log, output, report and checkpoints', () => {
  // In two parts, or this file would hold one.
  const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`;
  const repository = makePlanned(`tasks:
  - { id: make, run: "cat $TOKEN > token.txt; echo plain > plain.txt", artifacts: [token.txt, plain.txt] }
  - { id: show, run: "echo the token is $(cat $TOKEN); exit 1" }
`);
  repository.write('../token', secret);
  const report = join(repository.home, 'report.md');
  const { env } = ranIn(repository);
  const ran = runOrch(repository, ['run', 'plan.yaml', '--report', report], {
    env: { ...env, TOKEN: join(repository.home, 'token') },
  });
  expect(ran.status).toBe(3);
  expect(ran.stderr).toContain('the token is ');
  const [, log = ''] = /full output: (.*)\n/.exec(ran.stderr) ?? [];
  expect(readFileSync(log, 'utf8')).toContain('the token is ');
  const { runs }: { runs: RunDocument['run'][] } = JSON.parse(
    runOrch(repository, ['run', '--list', '--json'], { env }).stdout,
  );
  const files = repository.git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e');
  expect(files).toContain(`artifacts/${runs[0]?.id}/files/plain.txt`);
  expect(files).not.toContain('files/token.txt');
  const kept = [ran.stderr, ran.stdout, readFileSync(log, 'utf8'), readFileSync(report, 'utf8')];
  for (const text of kept) expect(text).not.toContain(secret);
});
