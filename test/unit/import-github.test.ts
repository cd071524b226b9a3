import { describe, expect, it } from 'vitest';
import { importText } from '../support/issues.ts';

const issue = (number: number, fields: Record<string, unknown> = {}) => ({
  number,
  title: `Issue ${number}`,
  body: '',
  state: 'OPEN',
  labels: [],
  url: `https://github.com/me/shop/issues/${number}`,
  ...fields,
});

const importIssues = (issues: readonly unknown[], allowLoss = false) =>
  importText(JSON.stringify(issues), { source: 'github', allowLoss });

describe('issues of GitHub', () => {
  it('become tasks with labels, milestone, priority and comments', async () => {
    const { tasks } = await importIssues([
      issue(7, {
        body: 'Make it so.',
        labels: [{ name: 'bug' }, { name: 'priority: high' }],
        milestone: { title: 'v2' },
        comments: [{ author: { login: 'ann' }, body: 'Please.' }],
      }),
    ]);
    expect(tasks[0]).toMatchObject({ id: 'gh-7', name: 'Issue 7' });
    expect(tasks[0]?.convoy.labels).toEqual(['bug', 'priority: high', 'milestone:v2', 'priority:1']);
    expect(tasks[0]?.convoy.prompt).toBe(
      'Issue 7\n\nMake it so.\n\n## Comment\n\nPlease.\n\n(gh-7, https://github.com/me/shop/issues/7)\n',
    );
  });

  it.each<[body: string, needs: readonly string[]]>([
    ['Blocked by #1', ['gh-1']],
    ['- **Depends on:** #1, #2 and #3', ['gh-1', 'gh-2', 'gh-3']],
    ['depends on me/shop#1', ['gh-1']],
    ['Blocked by: https://github.com/me/shop/issues/2', ['gh-2']],
    ['This is not blocked by #1', []],
    ['> blocked by #1', []],
    ['```\nblocked by #1\n```', []],
    ['It depends on #1', []],
    ['See #1', []],
  ])('depend on others as the body says: %s', async (body, needs) => {
    const all = await importIssues([issue(1), issue(2), issue(3), issue(9, { body })]);
    expect(all.needs['gh-9']).toEqual(needs);
    expect(all.report.notes.length).toBe(needs.length > 0 ? 1 : 0);
  });

  it('in a task list are parts; an issue with nothing else only groups', async () => {
    const { tasks, report } = await importIssues([
      issue(1, { body: '## Steps\n- [ ] #2\n- [x] #3\n- [ ] #44 is a pull request\n' }),
      issue(2),
      issue(3, { state: 'CLOSED' }),
      issue(4, { body: 'Do this, then:\n- [ ] #2' }),
      issue(5, { body: 'depends on #1' }),
    ]);
    expect(tasks.map(({ id, needs }) => [id, needs])).toEqual([
      ['gh-2', []],
      ['gh-4', []],
      ['gh-5', ['gh-2']],
    ]);
    expect(report).toMatchObject({ issues: { grouping: 1, closed: 1 }, dependencies: { lost: 0 } });
  });

  it('in another repository, or left out by a limit, are lost dependencies', async () => {
    const { report } = await importIssues([issue(1, { body: 'blocked by other/thing#1\nblocked by #500' })]);
    expect(report.lost.map(({ what }) => what)).toEqual([
      'gh-1 → other/thing#1 (blocked by (text))',
      'gh-1 → gh-500 (blocked by (text))',
    ]);
  });

  it('from the API may be pull requests, which are no work', async () => {
    const { tasks, report } = await importIssues([
      issue(1, { state: 'open' }),
      issue(2, { pull_request: {} }),
    ]);
    expect(tasks).toHaveLength(1);
    expect(report.notWork).toEqual({ 'pull request': 1 });
  });

  it('take no time to read, whatever a body says', async () => {
    const began = performance.now();
    await importIssues(
      [
        issue(1, { body: `blocked by #1${' ,'.repeat(50_000)}x` }),
        issue(2, { body: `${'*_ '.repeat(50_000)}blocked by` }),
      ],
      true,
    );
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
