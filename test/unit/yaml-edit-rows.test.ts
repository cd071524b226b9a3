import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { editYamlRows } from '../../src/config/yaml/yaml-edit.ts';

const edit = {
  index: 1,
  changes: { status: 'completed', evidence: { commits: ['1e10'], files: ['src/a.py'] } },
};

function edited(text: string): string {
  const result = editYamlRows(text, 'tasks', [edit]);
  if ('problem' in result) throw new Error(result.problem);
  return result.text;
}

const first = '# top\ntasks:\n  - id: T1 # one\n    status: pending\n\n';

describe('changing rows of a list in a YAML text', () => {
  it.each<[what: string, before: string, after: string]>([
    [
      'a plain status, empty lists, comments',
      `${first}  # two\n  - id: T2\n    status: pending  # soon\n    evidence:\n      commits: []\n      files: []  # none\n    x: 1\n`,
      `${first}  # two\n  - id: T2\n    status: completed  # soon\n    evidence:\n      commits: ["1e10"]\n      files: ["src/a.py"]  # none\n    x: 1\n`,
    ],
    [
      'quotes, lists with something in them',
      `${first}  - id: T2\n    status: 'pending'\n    evidence:\n      files:\n        - b # b\n      commits: [ a ]\n`,
      `${first}  - id: T2\n    status: 'completed'\n    evidence:\n      files:\n        - b # b\n        - "src/a.py"\n      commits: [ a, "1e10" ]\n`,
    ],
    [
      'no status and no evidence',
      `${first}  - id: T2 # two\n    content: |\n      a\n\n`,
      `${first}  - id: T2 # two\n    status: "completed"\n    evidence:\n      commits: ["1e10"]\n      files: ["src/a.py"]\n    content: |\n      a\n\n`,
    ],
    [
      'an empty status at the end of the file',
      `${first}  - id: T2\n    status:`,
      `${first}  - id: T2\n    status: "completed"\n    evidence:\n      commits: ["1e10"]\n      files: ["src/a.py"]`,
    ],
    [
      'an evidence that is null, and one list that is',
      `${first}  - id: T2\n    status: done\n    evidence:\n`,
      `${first}  - id: T2\n    status: completed\n    evidence:\n      commits: ["1e10"]\n      files: ["src/a.py"]\n`,
    ],
    [
      'a list that is null, another that is missing',
      `${first}  - id: T2\n    status: done\n    evidence:\n      files: ~\n`,
      `${first}  - id: T2\n    status: completed\n    evidence:\n      commits: ["1e10"]\n      files: ["src/a.py"]\n`,
    ],
    [
      'flow style',
      'tasks: [{id: T1}, {id: T2, evidence: {}}]\n',
      'tasks: [{id: T1}, {status: "completed", id: T2, evidence: {commits: ["1e10"], files: ["src/a.py"]}}]\n',
    ],
    [
      'Windows line ends',
      'tasks:\r\n- id: T1\r\n- id: T2\r\n',
      'tasks:\r\n- id: T1\r\n- id: T2\r\n  status: "completed"\r\n  evidence:\r\n    commits: ["1e10"]\r\n    files: ["src/a.py"]\r\n',
    ],
  ])('%s', (_, before, after) => {
    const text = edited(before);
    expect(parse(text).tasks[1]).toMatchObject({
      status: 'completed',
      evidence: {
        commits: expect.arrayContaining(['1e10']),
        files: expect.arrayContaining(['src/a.py']),
      },
    });
    expect(text).toBe(after);
  });

  it.each([
    ['no such row', 'tasks:\n  - id: T1\n'],
    ['a row that is an alias', 'tasks:\n  - &a {id: T1}\n  - *a\n'],
    [
      'an anchor whose value others use',
      'tasks:\n  - id: T1\n    status: *s\n  - id: T2\n    status: &s pending\n',
    ],
    ['no list', 'tasks: none\n'],
    ['no YAML', 'tasks: [\n'],
  ])('refuses %s', (_, text) => {
    expect(editYamlRows(text, 'tasks', [edit])).toHaveProperty('problem');
  });

  it('changes several rows, and nothing else, however the rows are written', () => {
    const row = fc.record({
      status: fc.constantFrom('', '    status: pending\n', '    status: "todo" # x\n', '    status:\n'),
      evidence: fc.constantFrom(
        '',
        '    evidence:\n',
        '    evidence:\n      commits:\n      - x\n      files: []\n',
        '    evidence: {commits: [a, b], files: [c]}\n',
      ),
      end: fc.constantFrom('', '    # end\n', '    content: >\n      folded\n      text\n\n', '\n'),
    });
    fc.assert(
      fc.property(fc.array(row, { minLength: 2, maxLength: 6 }), (rows) => {
        const text = `tasks:\n${rows.map(({ status, evidence, end }, index) => `  - id: T${index}\n${status}${evidence}${end}`).join('')}`;
        const edits = rows.flatMap((_, index) => (index % 2 === 1 ? [{ ...edit, index }] : []));
        const result = editYamlRows(text, 'tasks', edits);
        expect(result).not.toHaveProperty('problem');
        const after = 'text' in result ? result.text : '';
        for (const [index, task] of parse(after).tasks.entries())
          expect(task.status === 'completed').toBe(index % 2 === 1);
        for (const line of text.split('\n').filter((each) => /#|id:|folded/.test(each)))
          expect(after).toContain(line.replace(/status: "todo".*/, ''));
      }),
      { numRuns: 100 },
    );
  });
});
