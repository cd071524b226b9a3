import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causeOfConflict, causeOfRed } from '../../src/convoy/merge/feedback.ts';
import { taskBranch, taskEpic, worktreeName } from '../../src/convoy/names.ts';
import type { ConvoyTask } from '../../src/convoy/show-convoy.ts';
import { explainNext, type WhyFacts } from '../../src/convoy/why.ts';
import { decideAllowance } from '../../src/convoy/work/allowance.ts';
import { taskStates } from '../../src/convoy/work/task-transition.ts';
import { makeAgentCommand } from '../../src/convoy/worker/agent-command.ts';
import { formatPrompt, type PromptFacts } from '../../src/convoy/worker/describe-task.ts';
import { type Charge, chargeTask } from '../../src/cost/charge.ts';
import {
  addUsage,
  compactRow,
  emptyRow,
  type Ledger,
  type LedgerRow,
  listReadings,
  mergeRows,
  noUsage,
} from '../../src/cost/ledger.ts';
import { spentIn, sumByModel } from '../../src/cost/money.ts';
import { isEpicId, isTaskOf, parseEpicId, parseSessionId } from '../../src/ids.ts';
import { makeFolder } from '../support/repository.ts';

const convoy = parseEpicId('auth');

describe('what belongs to a convoy is named after it', () => {
  it('in a way people recognize', () => {
    expect(taskEpic(convoy, 'login')).toBe('auth--login');
    expect(taskBranch(convoy, 'login')).toBe('orch/auth/login');
    expect(worktreeName(convoy, 'login')).toBe('auth/login');
    expect(taskEpic(convoy, 'deploy[eu]')).toMatch(/^auth--deploy\.eu-[0-9a-f]{6}$/);
  });

  it('and never like another task, whatever the ids are', () => {
    const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(\[[A-Za-z0-9._-]{1,40}(#\d)?\])?$/);
    fc.assert(
      fc.property(id, id, (a, b) => {
        const [one, other] = [taskEpic(convoy, a), taskEpic(convoy, b)];
        expect(isEpicId(one)).toBe(true);
        expect(one.length).toBeLessThanOrEqual(64);
        expect(one === other).toBe(a === b);
        expect(taskBranch(convoy, a) === taskBranch(convoy, b)).toBe(a === b);
      }),
      { numRuns: 2_000 },
    );
  });

  it('and known as its own, however long or odd its name is', () => {
    for (const length of [1, 53, 54, 55, 61, 64])
      for (const task of ['a', 'b.lock', 'c'.repeat(64)]) {
        const long = parseEpicId('x'.repeat(length));
        expect([length, task, isTaskOf(taskEpic(long, task), long)]).toEqual([length, task, true]);
      }
    const dashed = parseEpicId('x--y');
    expect(isTaskOf(taskEpic(dashed, 'a'), dashed)).toBe(true);
    expect(isTaskOf(taskEpic(convoy, 'a'), dashed)).toBe(false);
    expect(isTaskOf(convoy, convoy)).toBe(false);
  });
});

describe('what happens next with a task', () => {
  const task: ConvoyTask = {
    ...{ id: 'login', number: 1, name: 'login', status: 'held', health: null, attempts: 1, agent: 'sh' },
    ...{ model: null, worktree: null, branch: 'orch/auth/login', epicId: taskEpic(convoy, 'login') },
    ...{ sessionId: null, labels: [], costUsd: 0, rejectedUsd: 0, startedAt: null, endedAt: null },
    ...{
      reason: null,
      doing: null,
      activeAt: null,
      collisions: [],
      commit: null,
      witness: null,
      tries: [],
      changedAt: null,
    },
  };
  const facts: WhyFacts = {
    ...{ name: 'auth/login', task, isActive: true, openNeeds: [], neededBy: ['logout'] },
    workers: { most: 4, now: 1 },
    ...{ shortOf: null, isClaimed: false, waitsForCollision: false, limitedUntil: null },
  };
  const tell = (status: ConvoyTask['status'], others: Partial<WhyFacts> = {}) =>
    explainNext({ ...facts, task: { ...task, status }, ...others });

  it.each<[ConvoyTask['status'], Partial<WhyFacts>, string]>([
    ['held', {}, 'orch convoy resume auth/login'],
    ['held', { shortOf: 'convoy' }, 'orch convoy budget +10 -e auth'],
    ['held', { shortOf: 'convoy', isActive: false }, 'orch convoy resume auth --budget +10'],
    ['held', { shortOf: 'task' }, 'orch convoy resume auth'],
    ['held', { waitsForCollision: true }, 'orch convoy resume auth/login'],
    ['failed', {}, 'orch convoy retry auth/login'],
    ['failed', { isActive: false }, 'orch convoy resume auth'],
    ['cancelled', {}, 'orch convoy retry auth/login'],
    ['working', { isActive: false }, 'orch convoy resume auth'],
    ['ready', { isClaimed: true }, 'orch convoy claim auth/login'],
    ['ready', { isActive: false }, 'orch convoy resume auth'],
    ['waiting', { shortOf: 'convoy' }, 'orch convoy budget +10 -e auth'],
    ['waiting', { openNeeds: [{ id: 'form', status: 'failed' }] }, 'orch convoy why auth/form'],
    ['skipped', { openNeeds: [{ id: 'form', status: 'failed' }] }, 'orch convoy why auth/form'],
  ])('%s %o', (status, others, command) => {
    const next = tell(status, others);
    expect(next.endsWith(`: ${command}`), next).toBe(true);
  });

  it('a command comes last, so that it can be copied', () => {
    for (const status of taskStates)
      for (const isActive of [true, false])
        expect(tell(status, { isActive })).not.toMatch(/: orch (?!convoy say)[^:]*(\.|wait for it)/);
  });
});

describe('what a worker may spend', () => {
  const money = fc.integer({ min: 0, max: 50_000_000 });

  it('never makes all allowances together more than is left of the budget', () => {
    fc.assert(
      fc.property(
        money,
        fc.array(
          fc.record({
            cap: fc.option(money),
            spends: fc.double({ min: 0, max: 1, noNaN: true }),
            before: fc.oneof(fc.constant(0), money),
            waiting: fc.array(fc.option(fc.integer({ min: 0, max: 50 })), { maxLength: 8 }),
          }),
        ),
        (budget, tasks) => {
          let spent = 0;
          const outstanding: number[] = [];
          const finished: number[] = [];
          for (const { cap, spends, before, waiting } of tasks) {
            const allowance = decideAllowance({
              ...{ left: budget - spent, outstanding, taskLeft: cap, finished },
              ...{ spent: before, waiting },
            });
            if (allowance.kind === 'held') {
              // One of those at work ends, and gives back what it did not spend.
              const amount = outstanding.shift() ?? 0;
              const used = Math.floor(amount * spends);
              spent += used;
              finished.push(used);
              continue;
            }
            outstanding.push(allowance.amount ?? Number.NaN);
            const promised = outstanding.reduce((sum, amount) => sum + amount, 0);
            expect(promised + spent).toBeLessThanOrEqual(budget);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('holds a task that what is left cannot pay for, as tasks have cost so far', () => {
    const means = { left: 3, outstanding: [], taskLeft: 10, finished: [4, 5, 6], spent: 0, waiting: [] };
    expect(decideAllowance(means)).toEqual({
      kind: 'held',
      why: 'convoy',
      likely: { amount: 5, from: { kind: 'finished', tasks: 3 } },
    });
    expect(decideAllowance({ ...means, left: 5 })).toEqual({ kind: 'granted', amount: 5 });
    expect(decideAllowance({ ...means, taskLeft: 0 })).toMatchObject({ kind: 'held', why: 'task' });
    expect(decideAllowance({ ...means, left: null, taskLeft: null })).toEqual({
      kind: 'granted',
      amount: null,
    });
  });
});

describe('what workers share that wait together', () => {
  const means = { left: 90, outstanding: [], taskLeft: null, finished: [], spent: 0, waiting: [null, null] };

  it('is what is left, if their tasks have no budgets of their own', () => {
    expect(decideAllowance(means)).toEqual({ kind: 'granted', amount: 30 });
    expect(decideAllowance({ ...means, outstanding: [30], waiting: [null] })).toEqual({
      kind: 'granted',
      amount: 30,
    });
    // Others take no more than their own budgets allow.
    expect(decideAllowance({ ...means, waiting: [10, null] })).toEqual({ kind: 'granted', amount: 40 });
    expect(decideAllowance({ ...means, waiting: [10, 80] })).toEqual({ kind: 'granted', amount: 40 });
    // As much as a task has cost so far, even if that is more than its share.
    expect(decideAllowance({ ...means, finished: [40] })).toEqual({ kind: 'granted', amount: 40 });
  });

  it('continues with what others do not need, as long as it is worth another start', () => {
    const more = { ...means, spent: 30, waiting: [] };
    expect(decideAllowance({ ...more, left: 60, outstanding: [20] })).toEqual({
      kind: 'granted',
      amount: 40,
    });
    expect(decideAllowance({ ...more, left: 22, outstanding: [20] })).toMatchObject({
      kind: 'held',
      why: 'convoy',
      likely: { amount: 3, from: { kind: 'spent' } },
    });
  });
});

describe('the command of a worker', () => {
  it('is that of the agent, with the model of the attempt', () => {
    const facts = { model: 'haiku', codex: { home: makeFolder(), writable: ['/j'] } };
    const claude = makeAgentCommand({}, 'do it', facts);
    const allowed = 'Bash(orch ask:*),Bash(git merge:*),Bash(git add:*),Bash(git rm:*),Bash(git commit:*)';
    expect(claude.argv).toEqual([
      ...['claude', '--print', 'do it', '--permission-mode', 'acceptEdits'],
      ...[`--allowedTools=${allowed}`, '--disallowedTools=Bash(git stash:*)', '--model', 'haiku'],
    ]);
    const bypass = ['--permission-mode=bypassPermissions'];
    expect(makeAgentCommand({ args: bypass }, 'do it', facts).argv).not.toContain('acceptEdits');
    expect(makeAgentCommand({ agent: ['sh', 'x.sh'], args: ['-v'] }, 'do it', facts)).toEqual({
      argv: ['sh', 'x.sh', '-v'],
      agent: 'sh',
      model: 'haiku',
    });
  });

  it('lets a Codex write, in the sandbox that the plan or the user chose, if they did', () => {
    const home = makeFolder();
    const start = (...args: string[]) =>
      makeAgentCommand({ agent: 'codex', args }, 'do it', {
        model: null,
        codex: { home, writable: ['/j'] },
      }).argv;
    const rest = ['--add-dir', '/j', '-c', 'allow_login_shell=false'];
    const write = ['--sandbox', 'workspace-write'];
    expect(start()).toEqual(['codex', 'exec', ...write, ...rest, 'do it']);
    for (const own of [['--full-auto'], ['-s', 'read-only'], ['-c', 'sandbox_mode="read-only"']])
      expect(start(...own)).toEqual(['codex', 'exec', ...rest, ...own, 'do it']);
    // What a table says holds only there.
    writeFileSync(join(home, 'config.toml'), 'model = "x"\n[profiles.a]\nsandbox_mode = "read-only"\n');
    expect(start()).toContain('workspace-write');
    writeFileSync(join(home, 'config.toml'), 'sandbox_mode = "danger-full-access"\n[a]\nb = 1\n');
    expect(start()).not.toContain('workspace-write');
  });
});

describe('the prompt of a worker', () => {
  const facts: PromptFacts = {
    task: 'login',
    name: 'The login form',
    text: 'Add the login form.\n',
    branch: 'orch/auth/login',
    files: ['src/login/**'],
    others: [{ task: 'docs', name: 'docs', files: ['docs/**'] }],
    feedback: null,
    messages: '',
    phase: null,
  };

  it('has the task, what it may touch, and what others do', () => {
    const prompt = formatPrompt(facts);
    expect(prompt.startsWith('Add the login form.')).toBe(true);
    expect(prompt).toContain('Change only: src/login/**.');
    expect(prompt).toContain('- docs (docs/**)');
  });

  it('begins with what was wrong if the work was sent back', () => {
    const prompt = formatPrompt({ ...facts, feedback: 'The gate "test" fails.' });
    expect(prompt.indexOf('The gate "test" fails.')).toBeLessThan(prompt.indexOf('Add the login form.'));
  });
});

describe('the cost of a task', () => {
  const task = parseEpicId('auth--login');
  const usage = (micros: number) => ({ ...noUsage, micros });
  const ledgerOf = (row: LedgerRow): Ledger => ({ w: { value: row } });
  const read = (row: LedgerRow, meters: readonly Charge[]): LedgerRow =>
    mergeRows(row, {
      ...{ generation: row.generation, folded: {} },
      meters: Object.fromEntries(meters.map(({ model, usage: reading }) => [model, reading])),
    });

  it('is paid once, however often it is charged, sessions are summed up and another scheduler continues', () => {
    const step = fc.oneof(
      fc.record({ spends: fc.integer({ min: 1, max: 9_999 }), model: fc.constantFrom('sonnet', 'gpt/5') }),
      fc.constantFrom('another session', 'summed up', 'charged', 'another scheduler', 'convoy summed up'),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let used: LedgerRow = emptyRow;
        let paid: LedgerRow = emptyRow;
        let [session, payer] = [0, 0];
        const charge = () => {
          const convoyed = { convoy: ledgerOf(paid), payer: parseSessionId(`sess-pay${payer}`) };
          const charges = chargeTask(task, ledgerOf(used), convoyed);
          const named = charges.map(({ model, usage: all }) => ({
            model: `sess-pay${payer}/${model}`,
            usage: all,
          }));
          paid = read(paid, named);
        };
        for (const each of steps) {
          if (typeof each === 'object') {
            const model = `sess-work${session}/${each.model}`;
            used = read(used, [
              { model, usage: addUsage(used.meters[model] ?? noUsage, usage(each.spends)) },
            ]);
          } else if (each === 'another session') session += 1;
          else if (each === 'another scheduler') payer += 1;
          else if (each === 'charged') charge();
          else if (each === 'summed up') used = compactRow(used, (other) => other !== `sess-work${session}`);
          else paid = compactRow(paid, (other) => other !== `sess-pay${payer}`);
        }
        charge();
        expect(spentIn(ledgerOf(paid))).toBe(spentIn(ledgerOf(used)));
        expect([...sumByModel(listReadings(ledgerOf(paid))).keys()].sort()).toEqual(
          [...sumByModel(listReadings(ledgerOf(used))).keys()].sort(),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is not mixed up with that of another task whose sessions were summed up too', () => {
    const used = ledgerOf({ ...emptyRow, meters: { 'earlier/sonnet': usage(900) } });
    const [payer, convoyed] = [parseSessionId('sess-aaaa'), ledgerOf(emptyRow)];
    const names = [task, parseEpicId('auth--mail')].map(
      (epic) => chargeTask(epic, used, { convoy: convoyed, payer })[0]?.model,
    );
    expect(names).toEqual(['task:auth--login/sonnet', 'task:auth--mail/sonnet']);
  });
});

describe('why work was not accepted, as it is recorded', () => {
  it('names the red gates with their failing tests, a few of many and each on one line', () => {
    const printed =
      'FAILED tests/test_a.py::test_b - AssertionError\n===== 1 failed, 5 passed in 0.1s =====\n';
    const red = [
      { name: 'tests', output: printed },
      { name: 'lint\u001b[31m', output: 'not a test' },
    ];
    expect(causeOfRed(red)).toEqual({
      red: [
        { gate: 'tests', failing: ['tests/test_a.py::test_b'] },
        { gate: 'lint[31m', failing: [] },
      ],
    });
    expect(causeOfRed(Array(30).fill(red[0])).red).toHaveLength(5);
  });

  it('names the files in conflict', () => {
    const files = Array.from({ length: 40 }, (_, n) => `src/${n}.ts`);
    expect(causeOfConflict({ files }).conflicts).toEqual(files.slice(0, 10));
  });
});
