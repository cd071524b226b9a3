import { expect, it } from 'vitest';
import { parsePlan } from '../../src/plan/parse-plan.ts';

const mistakeIn = (tasks: string): string => {
  try {
    parsePlan(`tasks:\n  - { id: build, run: make }\n${tasks}`, 'p.yaml');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'none';
};

const group = '  - { id: g, tasks: [{ id: in, run: x }] }\n';

it.each([
  [
    "  - { id: a, run: x, when: tasks.biuld.status == 'failed' }",
    'there is no task "biuld", did you mean build?',
  ],
  [`${group}  - { id: a, run: x, needs: [in] }`, 'in is inside the group g; allowed: g'],
  [`${group}  - { id: a, run: x, when: tasks.in.exit == 1 }`, 'in is inside the group g; allowed: g'],
  ['  - { id: g, run: x, tasks: [{ id: in, run: x }] }', 'a group has no run of its own'],
  ['  - { id: g, tasks: [] }', 'the group is empty; allowed: one task or more'],
  ['  - { id: g, tasks: [{ id: in, run: x, needs: [g] }] }', 'g is the group this task is in'],
  ['  - { id: a, run: x, repeat: { until: success } }', 'repeat.attempts: found nothing'],
  ['  - { id: a, run: x, repeat: { attempts: 2 }, retry: { attempts: 2 } }', 'repeat has its own attempts'],
  ['  - { id: a, repeat: { attempts: 2 }, effects: [{ id: e, run: x }] }', 'there is no command to repeat'],
  [
    '  - { id: g, repeat: { attempts: 2 }, tasks: [{ id: in, run: x, effects: [{ id: e, run: x }] }] }',
    'an effect is done once, and this group repeats; move it to a task after the group',
  ],
  [
    '  - { id: a, run: x, foreach: values.L, effects: [{ id: e, run: x }] }',
    'effects are planned before the run starts; allowed: with a list that is in the plan',
  ],
  ['  - { id: a, run: x, foreach: [1, null] }', 'found the item nothing'],
  ['  - { id: g, tasks: [{ id: h, tasks: [{ id: in, run: x }] }] }', 'tasks[1].tasks[0].tasks: unknown key'],
  [
    '  - { id: a, run: x, needs: [], when: tasks.b.exit == 1 }\n  - { id: b, run: x, when: tasks.a.exit == 1 }',
    'tasks wait for one another: a → b → a',
  ],
  [
    '  - { id: g, when: tasks.a.exit == 1, tasks: [{ id: in, run: x }] }\n  - { id: a, run: x }',
    'tasks wait for one another: ',
  ],
  ['  - { id: a, run: x, when: tasks.a.exit == 1 }', 'a needs itself'],
  // A loop may ask about itself, and a group about its tasks.
  ['  - { id: a, run: x, repeat: { until: tasks.a.exit == 1, attempts: 2 } }', 'none'],
  ['  - { id: g, repeat: { until: tasks.in.exit == 1, attempts: 2 }, tasks: [{ id: in, run: x }] }', 'none'],
])('the plan with\n%s\nis told: %s', (tasks, message) => {
  expect(mistakeIn(tasks)).toContain(message);
});
