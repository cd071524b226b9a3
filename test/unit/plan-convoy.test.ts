import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { refuseConvoy } from '../../src/plan/convoy-plan.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';

const auth = `name: auth
workers: 4
budget: 30
worker:
  agent: claude
  model: [small, large]
  args: [--permission-mode, acceptEdits]
  setup: npm ci
  copy: [.env]
  attempts: 3
  budget: 2.50
  timeout: 2h
merge: { into: null, batch: 4, gates: auto }
review: { by: [codex], required: 1 }
collisions: hold
tasks:
  - id: login
    prompt: |
      Add the login form.
      At most 5 attempts per 15 minutes.
    files: [src/login/**]
    labels: [frontend, 3, frontend]
    complexity: standard
    worker: { agent: [my-agent, --fast], model: auto }
  - { id: logout, prompt: { file: tasks/logout.md } }
  - { id: docs, run: make docs, needs: login, labels: [docs] }
`;

function refusal(text: string): string {
  try {
    parsePlan(text, 'p.yaml');
  } catch (error) {
    if (hasCode(error, 'PLAN_INVALID')) return error.message;
    throw error;
  }
  throw new Error(`taken: ${text}`);
}

describe('a plan with prompts', () => {
  const plan = parsePlan(auth, 'auth.yaml');
  const [login, logout, docs] = plan.tasks;

  it('is read with all its keys', () => {
    expect(plan.convoy).toEqual({
      workers: 4,
      budget: 30_000_000,
      worker: {
        agent: 'claude',
        model: ['small', 'large'],
        args: ['--permission-mode', 'acceptEdits'],
        setup: 'npm ci',
        copy: ['.env'],
        attempts: 3,
        budget: 2_500_000,
        timeout: 7_200_000,
      },
      merge: { into: null, batch: 4, gates: 'auto' },
      review: { by: ['codex'], required: 1 },
      collisions: 'hold',
    });
    expect(login?.convoy).toEqual({
      prompt: 'Add the login form.\nAt most 5 attempts per 15 minutes.\n',
      labels: ['frontend', '3'],
      complexity: 'standard',
      worker: { agent: ['my-agent', '--fast'], model: 'auto' },
    });
    expect(logout?.convoy.prompt).toEqual({ file: 'tasks/logout.md' });
    expect(docs?.convoy).toEqual({ prompt: null, labels: ['docs'], complexity: null, worker: {} });
  });

  it('implies no order, so what looks like a cycle with an implied one is none', () => {
    expect(plan.tasks.map(({ needs }) => needs)).toEqual([[], [], ['login']]);
    expect(plan.tasks.map(({ isInOrder }) => isInOrder)).toEqual([false, false, false]);
    const backwards = 'tasks: [{ id: a, needs: b, prompt: x }, { id: b, prompt: y }]';
    expect(parsePlan(backwards, 'p.yaml').tasks[1]?.needs).toEqual([]);
    expect(refusal(backwards.replace('prompt: x', 'run: x').replace('prompt: y', 'run: y'))).toContain(
      'tasks wait for one another',
    );
  });

  it('has tasks whose digest changes with the prompt', () => {
    const changed = parsePlan(auth.replace('5 attempts', '6 attempts'), 'auth.yaml');
    expect(changed.tasks.map(({ digest }, index) => digest === plan.tasks[index]?.digest)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it.each<[text: string, message: string]>([
    ['tasks: [{ id: a, prompt: " " }]', 'tasks[0].prompt: found " "; allowed: what an agent is to do'],
    ['tasks: [{ id: a, prompt: { file: ../x } }]', 'tasks[0].prompt: found a mapping without the path'],
    ['tasks: [{ id: a, prompt: x, run: y }]', 'tasks[0].run: a task with a prompt is done by an agent'],
    ['tasks: [{ id: a, prompt: x, timeout: 1h }]', 'allowed with a prompt: worker: { timeout: 2h }'],
    ['tasks: [{ id: a, run: x, worker: { attempts: 2 } }]', 'tasks[0].worker: worker is about a prompt'],
    ['tasks: [{ id: a, promt: x }]', 'tasks[0].promt: unknown key, did you mean prompt?'],
    ['tasks: [{ id: a, prompt: x, complexity: hard }]', 'allowed: trivial, simple, standard, complex'],
    [
      'tasks: [{ id: a, prompt: x, labels: "a b" }]',
      'tasks[0].labels: found "a b"; allowed: a list of labels',
    ],
    ['workers: 0\ntasks: [{ id: a, prompt: x }]', 'workers: found 0; allowed: a whole number from 1'],
    ['budget: 0\ntasks: [{ id: a, prompt: x }]', 'budget: found 0; allowed: dollars above 0'],
    ['worker: { modle: x }\ntasks: [{ id: a, prompt: x }]', 'worker.modle: unknown key, did you mean model?'],
    [
      'merge: { gates: some }\ntasks: [{ id: a, prompt: x }]',
      'merge.gates: found "some"; allowed: auto, none',
    ],
  ])('%s is refused', (text, message) => {
    expect(refusal(text)).toContain(message);
  });
});

describe('a program that starts no agents', () => {
  const refuse = (text: string) => () => refuseConvoy(parsePlan(text, 'p.yaml'), 'p.yaml');

  it('takes a plan without prompts, and refuses one with prompts or a budget it would ignore', () => {
    expect(refuse('tasks: [{ id: a, run: x, labels: [l] }]')).not.toThrow();
    expect(refuse('tasks: [{ id: a, prompt: x }, { id: b, run: y }]')).toThrow(
      'p.yaml has tasks for agents: a',
    );
    expect(refuse('budget: 3\ntasks: [{ id: a, run: x }]')).toThrow('p.yaml is for agents, as budget says');
  });
});
