import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { bead, dep, importBeads, importText, toLines } from '../support/issues.ts';

async function refusal(text: string | Buffer): Promise<string> {
  try {
    await importText(text);
  } catch (error) {
    if (hasCode(error, 'IMPORT_INVALID')) return `${error.message} | ${error.hint}`;
    throw error;
  }
  throw new Error('taken');
}

describe('a bead becomes a task', () => {
  it('with everything people wrote about it', async () => {
    const { tasks, text } = await importBeads([
      bead('bd-1', {
        title: 'Add login',
        description: 'A form.\r\n\r\nWith: colons # and marks',
        design: 'Use the router.',
        acceptance_criteria: '- it works',
        notes: 'Ask Ann.',
        comments: [{ id: 1, author: 'ann', text: 'Not on Fridays.' }],
        labels: ['frontend'],
        priority: 1,
        issue_type: 'feature',
        estimated_minutes: 90,
      }),
    ]);
    expect(tasks[0]).toMatchObject({ id: 'bd-1', name: 'Add login', needs: [], when: 'success' });
    expect(tasks[0]?.convoy).toEqual({
      prompt:
        'Add login\n\nA form.\n\nWith: colons # and marks\n\n## Design\n\nUse the router.\n\n## Acceptance criteria\n\n- it works\n\n## Notes\n\nAsk Ann.\n\n## Comment\n\nNot on Fridays.\n\n(bd-1)\n',
      labels: ['frontend', 'type:feature', 'priority:1'],
      complexity: 'standard',
      worker: {},
    });
    expect(text).toContain('    prompt: |\n      Add login\n\n      A form.\n');
  });

  it('higher priorities first, and each after what it needs', async () => {
    const { tasks } = await importBeads([
      bead('low', { priority: 4 }),
      bead('urgent', { priority: 0, dependencies: [dep('urgent', 'base')] }),
      bead('base', { priority: 3 }),
      bead('usual'),
    ]);
    expect(tasks.map(({ id }) => id)).toEqual(['base', 'urgent', 'usual', 'low']);
  });

  it('with an id that is valid, unique and stays the same when others come and go', async () => {
    const odd = [
      'no',
      '1e5',
      'null',
      '-x',
      'a b',
      'a/b',
      'A.lock',
      'merged',
      'Ünï',
      'same',
      'SAME',
      'con',
      ''.padEnd(80, 'x'),
    ];
    const { tasks } = await importBeads(odd.map((id) => bead(id)));
    const ids = tasks.map(({ id }) => id);
    expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(odd.length);
    expect(ids.slice(0, 3)).toEqual(['no', '1e5', 'null']);
    const alone = await importBeads([bead('a/b')]);
    expect(ids).toContain(alone.tasks[0]?.id);
    expect(alone.text).toContain('  # a/b\n');
  });

  it('with a name on one line that a terminal can show', async () => {
    const { tasks } = await importBeads([
      bead('bd-1', { title: `\u001b[31mred\u001b[0m\nnext ${'long '.repeat(40)}` }),
      bead('bd-2', { title: '' }),
    ]);
    expect(tasks[0]?.name).toMatch(/^\[31mred\[0m next long .*…$/);
    expect(tasks[0]?.name.length).toBeLessThanOrEqual(64);
    expect(tasks[1]?.name).toBe('bd-2');
  });

  it('without its secrets', async () => {
    const token = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    const { text, report } = await importBeads([bead('bd-1', { description: `push with ${token}` })]);
    expect(text).not.toContain(token);
    expect(report.redacted).toEqual(['bd-1']);
  });

  it('unless it is closed, is no work, or only groups others', async () => {
    const { tasks, report } = await importBeads([
      bead('done', { status: 'closed' }),
      bead('gone', { status: 'tombstone' }),
      bead('mail', { issue_type: 'message' }),
      bead('rig', { labels: ['gt:rig'] }),
      bead('kept', { status: 'pinned' }),
      bead('epic', { issue_type: 'epic', description: 'All about auth.' }),
      bead('part', { dependencies: [dep('part', 'epic', 'parent-child')] }),
      bead('lonely', { issue_type: 'epic' }),
      bead('custom', { status: 'in_review' }),
    ]);
    expect(tasks.map(({ id }) => id)).toEqual(['part', 'lonely', 'custom']);
    expect(tasks[0]?.convoy.labels).toEqual(['part-of:epic']);
    expect(tasks[0]?.convoy.prompt).toContain('## Part of epic: Title of epic\n\nAll about auth.');
    expect(report.issues).toEqual({
      ...{ read: 9, tasks: 3, closed: 2, grouping: 1, notWork: 3, repeated: 0, leftOut: 0, lost: 0 },
    });
    expect(report.unfinished).toEqual({ in_review: ['custom'] });
  });

  it('once, in its newest version', async () => {
    const old = bead('a', { title: 'old', updated_at: '2026-01-01', dependencies: [dep('a', 'missing')] });
    const { tasks, report } = await importBeads([
      old,
      bead('a', { title: 'new', updated_at: '2026-02-01' }),
      old,
    ]);
    expect(tasks.map(({ name }) => name)).toEqual(['new']);
    expect(report.issues).toMatchObject({ read: 3, tasks: 1, repeated: 2, lost: 0 });
    const twins = await importBeads([bead('a', { title: 'one' }), bead('a', { title: 'two' })]);
    expect(twins.report.lost).toMatchObject([{ kind: 'issue', id: 'a' }]);
  });
});

describe('a dependency', () => {
  it('on an open issue becomes a need, on a closed one it is satisfied', async () => {
    const { needs, report } = await importBeads([
      bead('a', { dependencies: [dep('a', 'b'), dep('a', 'c'), dep('a', 'b', 'related')] }),
      bead('b'),
      bead('c', { status: 'closed', dependencies: [dep('c', 'nowhere')] }),
    ]);
    expect(needs).toEqual({ a: ['b'], b: [] });
    expect(report.dependencies).toEqual({
      read: 4,
      needs: 1,
      satisfied: 2,
      informing: 1,
      leftOut: 0,
      lost: 0,
    });
  });

  it('on an epic waits for its parts; what an epic waits for, its parts wait for', async () => {
    const { needs } = await importBeads([
      bead('first', { issue_type: 'epic' }),
      bead('f1', { dependencies: [dep('f1', 'first', 'parent-child')] }),
      bead('f2', { dependencies: [dep('f2', 'first', 'parent-child')] }),
      bead('second', { issue_type: 'epic', dependencies: [dep('second', 'first')] }),
      bead('s1', { dependencies: [dep('s1', 'second', 'parent-child')] }),
    ]);
    expect(needs).toEqual({ f1: [], f2: [], s1: ['f1', 'f2'] });
  });

  it('on a large epic waits through one task', async () => {
    const parts = Array.from({ length: 20 }, (_, index) =>
      bead(`p${index}`, { dependencies: [dep(`p${index}`, 'epic', 'parent-child')] }),
    );
    const after = Array.from({ length: 20 }, (_, index) =>
      bead(`after${index}`, { dependencies: [dep(`after${index}`, 'epic')] }),
    );
    const { needs, tasks, report } = await importBeads([
      bead('epic', { issue_type: 'epic' }),
      ...parts,
      ...after,
    ]);
    expect(needs.after7).toEqual(['epic-done']);
    expect(needs['epic-done']).toHaveLength(20);
    expect(tasks.find(({ id }) => id === 'epic-done')?.run).toEqual({ kind: 'shell', line: 'true' });
    expect(report).toMatchObject({ joins: 1, dependencies: { needs: 20, lost: 0 } });
  });

  it('of an epic on its own part says nothing new', async () => {
    const { needs, report } = await importBeads([
      bead('epic', { issue_type: 'epic', dependencies: [dep('epic', 'p1')] }),
      bead('p1', { dependencies: [dep('p1', 'epic', 'parent-child')] }),
      bead('p2', { dependencies: [dep('p2', 'epic', 'parent-child')] }),
    ]);
    expect(needs).toEqual({ p1: [], p2: [] });
    expect(report.dependencies).toMatchObject({ informing: 3, lost: 0 });
  });

  it('on a failure becomes `when: failure`; one that a plan cannot say loses the issue', async () => {
    const repair = (...more: unknown[]) =>
      bead('repair', { dependencies: [dep('repair', 'try', 'conditional-blocks'), ...more] });
    const kept = await importBeads([bead('try'), repair()]);
    expect(kept.tasks.find(({ id }) => id === 'repair')).toMatchObject({ needs: ['try'], when: 'failure' });
    const lost = await importBeads([
      bead('try'),
      bead('other'),
      repair(dep('repair', 'other')),
      bead('next', { dependencies: [dep('next', 'repair')] }),
    ]);
    expect(lost.report.lost.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'issue repair',
      'dependency repair',
      'dependency repair',
      'dependency next',
    ]);
    const never = await importBeads([bead('try', { status: 'closed', close_reason: 'Done' }), repair()]);
    expect(never.report.lost[0]?.why).toContain('closed without a failure');
    const failed = await importBeads([
      bead('try', { status: 'closed', close_reason: 'Failed: no' }),
      repair(),
    ]);
    expect(failed.tasks).toMatchObject([{ id: 'repair', when: 'success', needs: [] }]);
  });

  it('on all children waits for them and their parent; on any of them it is lost', async () => {
    const records = (gate: string) => [
      bead('spawn'),
      bead('c1', { dependencies: [dep('c1', 'spawn', 'parent-child')] }),
      bead('join', { dependencies: [dep('join', 'spawn', 'waits-for', { metadata: `{"gate":"${gate}"}` })] }),
    ];
    expect((await importBeads(records('all-children'))).needs).toMatchObject({ join: ['spawn', 'c1'] });
    const any = await importBeads(records('any-children'));
    expect(any.report.lost).toMatchObject([{ kind: 'dependency', id: 'join' }]);
  });

  it.each<[what: string, to: string, why: string]>([
    ['an issue that is not there', 'bd-99', 'bd-99 is not in the export'],
    ['another database', 'external:gt:gt-4', 'is in another database'],
    ['itself', 'a', 'waits for itself'],
    ['a gate', 'gate', 'gate is a gate, which no task does'],
    ['nothing', '', 'names no issue'],
  ])('on %s is lost, and no plan is made unless that is allowed', async (_, to, why) => {
    const records = [bead('a', { dependencies: [dep('a', to)] }), bead('gate', { issue_type: 'gate' })];
    const refused = await importBeads(records);
    expect(refused.plan).toBeNull();
    expect(refused.report.lost[0]?.why).toContain(why);
    const allowed = await importBeads(records, { allowLoss: true });
    expect(allowed.needs).toEqual({ a: [] });
    expect(allowed.report.lost).toHaveLength(1);
  });

  it('names another database, whose issues are there too', async () => {
    const { needs } = await importBeads([
      bead('hq-1', { dependencies: [dep('hq-1', 'external:gt:gt-4')] }),
      bead('gt-4'),
    ]);
    expect(needs).toEqual({ 'hq-1': ['gt-4'], 'gt-4': [] });
  });

  it('that closes a circle is lost, and the circle is named', async () => {
    const { report, needs } = await importBeads(
      [
        bead('a', { dependencies: [dep('a', 'b')] }),
        bead('b', { dependencies: [dep('b', 'c')] }),
        bead('c', { dependencies: [dep('c', 'a')] }),
      ],
      { allowLoss: true },
    );
    expect(report.lost).toMatchObject([
      { what: 'c → a (blocks)', why: 'tasks would wait for one another: a → b → c → a' },
    ]);
    expect(needs).toEqual({ a: ['b'], b: ['c'], c: [] });
  });
});

describe('an export', () => {
  const two = [bead('a'), bead('b')];

  it.each<[form: string, text: string | Buffer]>([
    ['lines', toLines(two)],
    ['lines without types', toLines(two.map(({ _type, ...rest }) => rest))],
    ['lines below a header', toLines([{ _schema: 'beads-jsonl/1' }, ...two])],
    ['lines without a last line end', toLines(two).trimEnd()],
    ['lines that end as on Windows', `\uFEFF${toLines(two).replaceAll('\n', '\r\n')}`],
    ['lines in UTF-16', Buffer.from(`\uFEFF${toLines(two)}`, 'utf16le')],
    ['a list', JSON.stringify(two)],
    ['pages', `${JSON.stringify([bead('a')])}\n${JSON.stringify([bead('b')])}\n`],
    ['an indented list', JSON.stringify(two, null, 2)],
    ['an answer with data', JSON.stringify({ schema_version: 1, data: two })],
    ['an answer with items', JSON.stringify({ items: two })],
  ])('is read as %s', async (_, text) => {
    expect((await importText(text)).tasks.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it.each<[what: string, text: string | Buffer, message: string]>([
    ['an empty file', '\n', 'the input is empty'],
    ['a binary file', Buffer.from([1, 0, 2]), 'binary file'],
    [
      'a database',
      Buffer.from('SQLite format 3\0'),
      'a database, not an export | Export the issues first: bd export --all',
    ],
    ['another encoding', Buffer.from('{"id":"\xe9"}', 'latin1'), 'not encoded in UTF-8'],
    ['a text', '# Issues\n- one\n', 'line 1 is not JSON'],
    ['a plan', 'tasks:\n  - id: a\n', 'is not an export: line 1'],
    ['other JSON', '{"name":"x"}', 'has no list of issues'],
    ['issues of GitHub', '[{"number":1,"title":"x"}]', 'orch import github'],
    ['closed issues only', toLines([bead('a', { status: 'closed' })]), 'all 1 issue in the input are closed'],
  ])('that is %s is refused', async (_, text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  it('with a bad line names the line, and loses it only if that is allowed', async () => {
    const torn = `${toLines(two)}{"id":"c","tit`;
    const { plan, report } = await importText(torn);
    expect(plan).toBeNull();
    expect(report.lost).toMatchObject([
      { kind: 'line', what: 'line 3 of the input', why: 'is cut off: the file ends in the middle of it' },
    ]);
    expect((await importText(torn, { allowLoss: true })).tasks).toHaveLength(2);
    const conflict = await importText(`<<<<<<< HEAD\n${toLines(two)}`);
    expect(conflict.report.lost[0]?.why).toBe('is left from a merge conflict');
  });

  it('has memories, which have no place in a plan and are no loss', async () => {
    const { report, plan } = await importBeads([bead('a'), { _type: 'memory', key: 'k', value: 'v' }]);
    expect(plan).not.toBeNull();
    expect(report.memories).toEqual([{ key: 'k', value: 'v' }]);
  });

  it('that counts dependencies and leaves them out is incomplete', async () => {
    const { report, plan } = await importBeads([bead('a', { dependency_count: 2 })]);
    expect(plan).toBeNull();
    expect(report.lost).toMatchObject([{ kind: 'export', what: 'dependencies of 1 issue' }]);
  });
});
