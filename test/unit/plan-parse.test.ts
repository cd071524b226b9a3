import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import type { Plan } from '../../src/plan/plan.ts';

const release = `name: release
tasks:
  - id: lint
    run: npm run lint
  - id: build
    run: [node, build.js]
    files: [src/**]
    retry: { attempts: 3, backoff: 250ms }
    timeout: 1h30m
    env: { NODE_ENV: production, LEVEL: 3 }
    artifacts: [dist/app.js]
  - id: docs
    run: make docs
    needs: []
    when: always
  - id: publish
    needs: [build, docs]
    effects:
      - { id: tag, run: [sh, release.sh], check: sh is-released.sh }
      - { id: notify, request: { url: "http://127.0.0.1:1/x", headers: { X-A: b }, body: { n: [1, null] } } }
`;

function refusal(text: string): string {
  try {
    parsePlan(text, 'p.yaml');
  } catch (error) {
    if (hasCode(error, 'PLAN_INVALID')) return error.message.replaceAll('\n       ', '\n');
    throw error;
  }
  throw new Error(`taken: ${text}`);
}

const taskOf = (plan: Plan, id: string) => plan.tasks.find((task) => task.id === id);

describe('a plan', () => {
  const plan = parsePlan(release, 'plans/x.yaml');

  it('is read with all its keys', () => {
    expect(plan.name).toBe('release');
    expect(taskOf(plan, 'build')).toMatchObject({
      number: 2,
      run: { kind: 'program', argv: ['node', 'build.js'] },
      needs: ['lint'],
      when: 'success',
      files: ['src/**'],
      retry: { attempts: 3, backoff: 250 },
      timeout: 5_400_000,
      env: { NODE_ENV: 'production', LEVEL: '3' },
      artifacts: ['dist/app.js'],
    });
    expect(taskOf(plan, 'publish')).toMatchObject({
      run: null,
      retry: { attempts: 1 },
      effectRetry: { attempts: 3, backoff: 1_000 },
      effects: [
        {
          id: 'tag',
          action: { kind: 'command', run: { kind: 'program', argv: ['sh', 'release.sh'] } },
          check: { kind: 'command', run: { kind: 'shell', line: 'sh is-released.sh' } },
        },
        {
          id: 'notify',
          action: {
            kind: 'request',
            request: { method: 'POST', headers: { 'X-A': 'b' }, body: { n: [1, null] } },
          },
          check: null,
        },
      ],
    });
  });

  it('has tasks that wait for the one before them, unless they say for whom', () => {
    expect(plan.tasks.map(({ needs }) => needs)).toEqual([[], ['lint'], [], ['build', 'docs']]);
  });

  it('may call its tasks steps, and is named after its file by default', () => {
    const { name, tasks } = parsePlan('steps: [{ id: 1, run: x }, { id: b, run: y, needs: 1 }]', 'a/b.c.yml');
    expect(name).toBe('b.c');
    expect(tasks.map(({ id, needs }) => [id, needs])).toEqual([
      ['1', []],
      ['b', ['1']],
    ]);
  });

  it('has the same digests in any layout, and others if a task changes', () => {
    const digests = (text: string) => parsePlan(text, 'p.yaml').tasks.map(({ digest }) => digest);
    const same = release.replace('    run: npm run lint\n', '    # first\n    run: "npm run lint"\n');
    expect(parsePlan(same, 'p.yaml').digest).toBe(plan.digest);
    expect(digests(same)).toEqual(digests(release));
    const slower = release.replace('1h30m', '2h');
    expect(digests(slower)).toEqual(digests(release));
    expect(parsePlan(slower, 'p.yaml').digest).not.toBe(plan.digest);
    const changed = digests(release.replace('npm run lint', 'npm run other'));
    expect(changed.map((digest, index) => digest === digests(release)[index])).toEqual([
      false,
      true,
      true,
      true,
    ]);
    // An effect is compared by itself: with another one, the task's command need not run again.
    const other = release.replace('release.sh]', 'other.sh]');
    expect(digests(other)).toEqual(digests(release));
    const effects = (text: string) => parsePlan(text, 'p.yaml').tasks.flatMap(({ effects: all }) => all);
    expect(effects(other)[0]?.digest).not.toBe(effects(release)[0]?.digest);
  });
});

describe('a wrong plan names the place', () => {
  it.each([
    ['', 'p.yaml:1:1: found nothing; allowed: a plan, which has "tasks:" with a list of tasks'],
    ['tasks: []', 'p.yaml:1:8: tasks: the list is empty; allowed: one task or more'],
    ['name: x', 'p.yaml:1:1: there are no tasks; allowed: "tasks:" with a list of tasks'],
    ['tasks: [', 'p.yaml:1:9: not valid YAML: '],
    ['tasks: [{ id: a }]', 'p.yaml:1:9: tasks[0]: it does nothing; allowed: run or prompt, effects, or both'],
    ['tasks: [{ id: a, rn: x }]', 'p.yaml:1:18: tasks[0].rn: unknown key, did you mean run?'],
    ['tasks: [{ id: a/b, run: x }]', 'p.yaml:1:15: tasks[0].id: found "a/b"; allowed: a word of letters'],
    [
      'tasks: [{ id: a, run: x, timeout: soon }]',
      'p.yaml:1:35: tasks[0].timeout: found "soon"; allowed: a duration',
    ],
    ['tasks: [{ id: a, run: x, artifacts: [../x] }]', 'which leads outside the repository'],
    ['tasks: [{ id: a, run: x, artifacts: [a/../../x] }]', 'which leads outside the repository'],
    ['tasks: [{ id: a, run: x, artifacts: [/etc/x] }]', 'which is not relative to the repository'],
    ['tasks: [{ id: a, run: x, artifacts: [.git/config] }]', "which is git's own"],
    ['tasks: [{ id: a, run: x, env: { "A=B": c } }]', 'found the name "A=B"'],
    ['tasks: [{ id: a, run: x, needs: [a] }]', 'p.yaml:1:34: tasks[0].needs[0]: a needs itself'],
    [
      'tasks: [{ id: a, run: x, needs: b }, { id: b, run: y }]',
      'tasks[0].needs: tasks wait for one another: a → b → a',
    ],
    ['tasks: [{ id: ab, run: x, needs: [ba] }, { id: aa, run: y }]', 'there is no task "ba", did you mean'],
    [
      'tasks: [{ id: a, run: x }, { id: a, run: y }]',
      'tasks[1].id: found "a" a second time; allowed: an id no other task has',
    ],
    [
      'tasks: [{ id: a, effects: [{ id: e }] }]',
      'tasks[0].effects[0]: it does nothing; allowed: either run or request',
    ],
    ['tasks: [{ id: a, effects: [{ id: e, run: x, request: { url: "http://h" } }] }]', 'it does two things'],
    [
      'tasks: [{ id: a, effects: [{ id: e, request: { url: "file:///x" } }] }]',
      'a URL that starts with http',
    ],
    ['tasks: [{ id: a, effects: [{ id: e, request: { url: "http://h", body: .inf } }] }]', 'any JSON value'],
    ['tasks: [{ id: a, run: x }]\nsteps: []', 'p.yaml:2:8: steps: steps means the same as tasks'],
  ])('%j', (text, message) => {
    expect(refusal(text)).toContain(message);
  });

  it('of every mistake at once, in the order of the file', () => {
    const text = `nam: x
tasks:
  - id: a
    run: x
    retrys: 3
    timeout: never
  - id: a
    run: []
    needs: [nobody]
  - id: c
    effects: [{ id: e, run: x }, { id: e, run: y }]
`;
    const lines = refusal(text).split('\n');
    expect(lines.map((line) => /^p\.yaml:(\d+):\d+: (\S+):/.exec(line)?.slice(1).join(' '))).toEqual([
      '1 nam',
      '5 tasks[0].retrys',
      '6 tasks[0].timeout',
      '7 tasks[1].id',
      '8 tasks[1].run',
      '9 tasks[1].needs[0]',
      '11 tasks[2].effects[1].id',
    ]);
  });

  it('and is all that can happen, whatever the text', () => {
    const words = [
      'tasks:',
      'steps:',
      '- ',
      'id: a',
      'run: x',
      'needs:',
      '[a',
      ']',
      '{',
      '}',
      '\n',
      '  ',
      'effects:',
      '*a',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 12 }), (parts) => {
        try {
          expect(parsePlan(parts.join(' '), 'p.yaml').tasks.length).toBeGreaterThan(0);
        } catch (error) {
          if (!hasCode(error, 'PLAN_INVALID')) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});
