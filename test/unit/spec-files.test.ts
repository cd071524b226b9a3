import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findPosition, layOutBatches } from '../../src/spec/batches.ts';
import { parseSpec } from '../../src/spec/read-spec.ts';
import {
  formatSpecCheckpoint,
  parseFoundIssues,
  parseSpecCheckpoint,
} from '../../src/spec/spec-checkpoint.ts';

const folder = 'specs/active/auth-system';

function read(tasks: string, dependencies = 'phases: []') {
  const found = parseSpec({ folder, tasks, dependencies });
  return { ...found, batches: () => layOutBatches(found).map((batch) => batch.map(({ id }) => id)) };
}

/** Each mistake as `file:line message`. */
function mistakesOf(tasks: string, dependencies = 'phases: []'): string[] {
  try {
    read(tasks, dependencies).batches();
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: 'PLAN_INVALID', hint: expect.stringContaining('Fix ') });
    const lines = error instanceof Error ? error.message.split(/\n\s*/) : [];
    return lines.map((line) =>
      line.replace(/^specs\/active\/auth-system\/(\w+)\.yaml:(\d+):\d+: /, '$1:$2 '),
    );
  }
}

const three =
  'tasks:\n- {id: A, content: a}\n- {id: B, content: b, depends_on: [A]}\n- {id: C, content: c}\n';

describe('a spec', () => {
  it('has the dependencies of both files, and reads common spellings of a status', () => {
    const { spec, mistakes } = read(
      'tasks:\n- {id: 1, content: "a\\n b", status: Done}\n- {id: B, content: b, status: in-progress, depends_on: [1], owner: x}\n- {id: C, content: c, status: "Not started"}\n- {id: D, content: d}\n',
      'phases:\n- {id: p, tasks: [{id: B, file: [x, y], depends_on: [C]}, {id: D, file: z}]}\n',
    );
    expect(mistakes).toEqual([]);
    expect(spec.name).toBe('auth-system');
    expect(spec.tasks.map(({ id, name, status, needs, files }) => [id, name, status, needs, files])).toEqual([
      ['1', 'a b', 'completed', [], []],
      ['B', 'b', 'in_progress', ['1', 'C'], ['x', 'y']],
      ['C', 'c', 'pending', [], []],
      ['D', 'd', 'pending', [], ['z']],
    ]);
  });

  it('is refused with every mistake of both files named, at its place', () => {
    expect(
      mistakesOf(
        'tasks:\n- {id: A, content: a, status: blocked}\n- {id: B, content: b, depend_on: [A]}\n- {id: B, content: c, depends_on: [X]}\n- {id: "a b", content: d}\n- 7\n',
        'phases:\n- tasks:\n  - {id: A, files: x}\n  - {id: Z}\n  - {id: B, depends_on: A}\n',
      ),
    ).toEqual([
      'tasks:2 tasks[0].status: found "blocked"; allowed: pending, in_progress, completed',
      'tasks:3 tasks[1]: unknown key depend_on, did you mean depends_on?',
      'tasks:4 tasks[2].id: the id B is used twice',
      'tasks:4 tasks[2].depends_on[0]: B depends on X, which is not a task',
      expect.stringContaining('tasks:5 tasks[3].id: found "a b"; allowed: a word of letters'),
      'tasks:6 tasks[4]: found 7; allowed: a mapping with id, content, name, status, depends_on, file, evidence',
      'dependencies:3 phases[0].tasks[0]: unknown key files, did you mean file?',
      'dependencies:4 phases[0].tasks[1].id: tasks.yaml has no task Z',
      'dependencies:5 phases[0].tasks[2].depends_on: found "A"; allowed: a list of task ids',
    ]);
  });

  it.each<[what: string, tasks: string, dependencies: string, mistake: string]>([
    ['no YAML', 'tasks: [\n', 'phases: []', 'tasks:2 not valid YAML'],
    ['an empty file', '', 'phases: []', 'tasks:1 found nothing; allowed: a mapping with spec, tasks'],
    ['a list of phases that is none', three, 'phases: x', 'dependencies:1 phases: found "x"'],
    ['conflict markers', three, '<<<<<<< HEAD\nphases: []\n', 'dependencies:'],
    [
      'a circle over both files',
      three,
      'phases:\n- tasks: [{id: A, depends_on: [C]}, {id: C, depends_on: [B]}]\n',
      'tasks:2 tasks[0]: tasks wait for one another: A → C → B → A',
    ],
    [
      'itself',
      'tasks:\n- {id: A, content: a, depends_on: [A]}\n',
      'phases: []',
      'tasks:2 tasks[0]: A depends on itself',
    ],
    [
      'a batch of unknown tasks',
      three,
      'phases: []\nbatches: [[A], [B, C, X]]',
      'dependencies:2 batches[1]: tasks.yaml has no task X',
    ],
    [
      'a task in two batches',
      three,
      'phases: []\nbatches: [[A], [B, C], [A]]',
      'dependencies:2 batches[2]: A is already in batch 1',
    ],
    [
      'a task in no batch',
      three,
      'phases: []\nbatches: [[A], [B]]',
      'tasks:4 tasks[2]: C is in none of the batches',
    ],
    [
      'a batch before what it needs',
      three,
      'phases: []\nbatches: [[A, B], [C]]',
      'dependencies:2 batches[0]: B depends on A',
    ],
    [
      'an empty batch',
      three,
      'phases: []\nbatches: [[A], [], [B, C]]',
      'dependencies:2 batches[1]: batch 2 has no tasks',
    ],
  ])('is refused: %s', (_, tasks, dependencies, mistake) => {
    expect(mistakesOf(tasks, dependencies).join('\n')).toContain(mistake);
  });

  it('uses the batches that the user laid out', () => {
    expect(read(three, 'phases: []\nbatches:\n- {name: first, tasks: [A, C]}\n- [B]\n').batches()).toEqual([
      ['A', 'C'],
      ['B'],
    ]);
    // Without files it is not known whether they overlap.
    expect(read(three).batches()).toEqual([['A'], ['B'], ['C']]);
  });

  it('continues in the middle of a batch', () => {
    const found = read(
      'tasks:\n- {id: A, content: a, status: completed}\n- {id: B, content: b, status: in_progress}\n- {id: C, content: c, depends_on: [B]}\n',
      'phases:\n- tasks: [{id: A, file: a}, {id: B, file: b}]\n',
    );
    const position = findPosition(layOutBatches(found));
    expect(position).toMatchObject({ total: 2, lastBatch: 0, batch: { number: 1, parallel: false } });
    expect(position.batch?.completed.map(({ id }) => id)).toEqual(['A']);
    expect(position.batch?.tasks.map(({ id }) => id)).toEqual(['B']);
    expect(position.blocked.map(({ task, waitsFor }) => [task.id, waitsFor])).toEqual([['C', ['B']]]);
  });
});

/** As it is documented, with its comments. */
const documented = `checkpoint:
  # Metadata
  spec_name: auth-system
  spec_path: ./specs/active/auth-system
  branch: feat/auth-system
  timestamp: 2026-01-22T14:30:00Z

  # Progress
  last_batch: 2
  last_commit: a1b2c3d4

  # Task status summary (mirrors tasks.yaml)
  tasks:
    completed:
      - id: T001
        name: "Add user model"
      - id: T002
        name: "Add authentication endpoint"
    in_progress: []
    pending:
      - id: T003
        name: "Add session management"
      - id: T004
        name: "Add logout endpoint"

  # Next batch info
  next_batch:
    number: 3
    tasks:
      - id: T003
        name: "Add session management"
        file: src/auth/session.py
    parallel: false

  # Deferred issues (medium severity, noted for later)
  deferred_issues:
    - batch: 2
      severity: medium
      description: "Variable naming could be clearer in auth.py"
      location: "src/auth/auth.py:45"

  # Review config for resumption
  review_config:
    reviewers:
      - openai/gpt-5.2-codex
      - google/gemini-3-pro-preview
`;

describe('checkpoint.yaml', () => {
  const {
    spec,
    batches: _,
    ...found
  } = read(
    `spec: auth-system
tasks:
  - {id: T001, content: Add user model, status: completed}
  - {id: T002, content: Add authentication endpoint, status: completed, depends_on: [T001]}
  - {id: T003, content: Add session management, depends_on: [T002]}
  - {id: T004, content: Add logout endpoint, depends_on: [T003]}
`,
    'phases:\n- tasks: [{id: T003, file: src/auth/session.py}]\n',
  );
  const position = findPosition(layOutBatches({ spec, ...found }));

  it('is the documented one, made from its tasks, with the same keys in the same order', () => {
    const { completed: __, ...before } = parseSpecCheckpoint('checkpoint.yaml', documented);
    const text = formatSpecCheckpoint({
      name: spec.name,
      folder,
      timestamp: '2026-01-22T14:30:00Z',
      checkpoint: { ...before, lastBatch: position.lastBatch },
      tasks: spec.tasks,
      next: position.batch,
    });
    // Text for text: JSON keeps the order of keys.
    expect(JSON.stringify(parse(text))).toBe(JSON.stringify(parse(documented)));
    expect(text).toContain('  # Next batch info\n  next_batch:\n');
  });

  it("carries other tools' keys, and an id of digits alone stays one", () => {
    const { completed: __, ...before } = parseSpecCheckpoint(
      'checkpoint.yaml',
      documented.replace('a1b2c3d4', '12345678').replace('  # Progress', '  reviewed_by: {name: x}'),
    );
    const text = formatSpecCheckpoint({
      name: spec.name,
      folder,
      timestamp: 't',
      checkpoint: { ...before, branch: null },
      tasks: spec.tasks,
      next: null,
    });
    expect(parse(text).checkpoint).toMatchObject({
      branch: null,
      last_commit: '12345678',
      next_batch: null,
      reviewed_by: { name: 'x' },
      review_config: { reviewers: ['openai/gpt-5.2-codex', 'google/gemini-3-pro-preview'] },
    });
  });

  it.each([
    ['a', 'checkpoint.yaml:1:1: found "a"; allowed: a mapping with checkpoint'],
    ['checkpoint: {last_commit: HEAD}', 'checkpoint.last_commit: found "HEAD"; allowed: the id of a commit'],
    [
      'checkpoint: {tasks: {}, deferred_issues: [{severity: bad}]}',
      'deferred_issues[0].severity: found "bad"',
    ],
  ])('is refused with its place: %s', (text, message) => {
    expect(() => parseSpecCheckpoint('checkpoint.yaml', text)).toThrow(message);
  });
});

it('what a review found is read from YAML and JSON, and refused with its place', () => {
  const issue = { severity: 'medium', description: 'x', location: null };
  expect(parseFoundIssues('r.yaml', '- {severity: medium, description: x}\n')).toEqual([issue]);
  expect(parseFoundIssues('r.json', JSON.stringify([issue]))).toEqual([issue]);
  expect(() => parseFoundIssues('r.yaml', '- severity: small\n  description: x\n')).toThrow(
    'r.yaml:1:13: [0].severity: found "small"; allowed: critical, high, medium, low',
  );
  expect(() => parseFoundIssues('r.yaml', 'none')).toThrow('found "none"; allowed: a list of issues');
});
