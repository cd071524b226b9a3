import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLearnings } from '../../src/convoy/report/find-learnings.ts';
import { type ConvoyReport, makeReport } from '../../src/convoy/report/make-report.ts';
import { findTrend, measureConvoy, medianOf } from '../../src/convoy/report/metrics.ts';
import { addLearnings, listIds } from '../../src/convoy/report/reflect.ts';
import { describeReport, describeSeconds } from '../../src/convoy/report/report-document.ts';
import type { ReportFacts, TaskFacts, TaskHistory, Try } from '../../src/convoy/report/report-facts.ts';
import { splitCost } from '../../src/convoy/report/task-money.ts';
import { splitTime } from '../../src/convoy/report/task-time.ts';
import { writeHtml } from '../../src/convoy/report/write-html.ts';
import { writeMarkdown } from '../../src/convoy/report/write-markdown.ts';
import { parseEpicId } from '../../src/ids.ts';
import { toMicros } from '../../src/units.ts';

const began = Date.UTC(2026, 10, 16, 2, 0, 0);
const at = (minutes: number) => began + minutes * 60_000;
const instant = (minutes: number) => new Date(at(minutes)).toISOString();

const nothing: TaskHistory = { sessions: [], questions: [], witness: [] };
const madeOf = (some: Partial<Try>): Try => ({
  attempt: 1,
  model: null,
  why: 'as the plan says',
  before: 0,
  ...some,
});

function taskOf(
  id: string,
  { task, ...some }: Partial<Omit<TaskFacts, 'task'>> & { task?: object } = {},
): TaskFacts {
  return {
    task: {
      ...{
        id,
        name: id,
        status: 'done',
        attempts: 1,
        agent: 'claude',
        model: null,
        costUsd: 0,
        rejectedUsd: 0,
      },
      ...{ startedAt: instant(0), endedAt: instant(10), reason: null, commit: 'a'.repeat(40), ...task },
    },
    ...{ complexity: null, tries: [], wasRetried: false, history: nothing, ...some },
  };
}

function factsOf(tasks: readonly TaskFacts[], some: Partial<ReportFacts> = {}): ReportFacts {
  const budget = { limitUsd: null, spentUsd: 0, remainingUsd: null, percent: null, level: 'none' as const };
  return {
    convoy: {
      ...{ id: 'run-1', name: 'auth', epicId: parseEpicId('auth'), status: 'succeeded', plan: 'auth.yaml' },
      ...{ base: null, merged: null, budget, startedAt: instant(0), endedAt: instant(10) },
    },
    ...{
      now: at(20),
      planFile: 'auth.yaml',
      earlierRuns: 0,
      isLanded: true,
      collisions: [],
      tasks,
      unread: 0,
    },
    ...{ damaged: [], ...some },
  };
}

const reportOf = (tasks: readonly TaskFacts[], some?: Partial<ReportFacts>) =>
  makeReport(factsOf(tasks, some));
const sum = (amounts: readonly number[]) => amounts.reduce((total, each) => total + each, 0);

describe('the money of a report', () => {
  const micros = fc.nat({ max: 100_000_000 });
  const anyTask = fc.record({
    cost: micros,
    // A damaged record may count backwards, or beyond the whole.
    begins: fc.array(fc.record({ before: micros, model: fc.constantFrom('haiku', 'opus', null) }), {
      maxLength: 4,
    }),
  });

  it('adds up: the attempts are the task, the tasks and the rest are the convoy, and so are the models', () => {
    fc.assert(
      fc.property(fc.array(anyTask, { maxLength: 6 }), micros, (tasks, charged) => {
        const facts = tasks.map(({ cost, begins }, index) =>
          taskOf(`t${index}`, { task: { costUsd: cost / 1e6 }, tries: begins.map(madeOf) }),
        );
        const { convoy } = factsOf([]);
        const budget = { ...convoy.budget, spentUsd: charged / 1e6 };
        const report = reportOf(facts, { convoy: { ...convoy, budget } });
        for (const [index, { made, costUsd }] of report.tasks.entries()) {
          expect(sum(made.map((each) => toMicros(each.costUsd)))).toBe(tasks[index]?.cost);
          expect(toMicros(costUsd)).toBe(tasks[index]?.cost);
          for (const each of made) expect(each.costUsd).toBeGreaterThanOrEqual(0);
        }
        const ofTasks = sum(tasks.map(({ cost }) => cost));
        const { spentUsd, otherUsd, byModel } = report.money;
        expect(toMicros(spentUsd)).toBe(ofTasks + toMicros(otherUsd));
        expect(toMicros(spentUsd)).toBe(Math.max(ofTasks, charged));
        expect(sum(byModel.map(({ costUsd }) => toMicros(costUsd)))).toBe(ofTasks);
      }),
    );
  });

  it.each<[what: string, tries: Partial<Try>[], attempts: [attempt: number | null, cost: number][]]>([
    ['without attempts one by one', [], [[null, 900]]],
    ['of one attempt', [{}], [[1, 900]]],
    [
      'of two',
      [{}, { attempt: 2, before: 300 }],
      [
        [1, 300],
        [2, 600],
      ],
    ],
    [
      'with attempts before those known',
      [{ attempt: 7, before: 500 }],
      [
        [null, 500],
        [7, 400],
      ],
    ],
  ])('%s', (_, tries, attempts) => {
    const facts = taskOf('a', { task: { costUsd: 0.0009 }, tries: tries.map(madeOf) });
    expect(splitCost(facts).map(({ made, cost }) => [made?.attempt ?? null, cost])).toEqual(attempts);
  });
});

describe('the time of a task', () => {
  const session = (from: number, to: number | null, status: TaskHistory['sessions'][number]['status']) => {
    return { startedAt: at(from), endedAt: to === null ? null : at(to), status };
  };
  const asked = (until: number | null) => {
    return { text: 'Which?', answer: null, resolvedAt: until === null ? null : at(until) };
  };
  type Row = [
    what: string,
    history: Partial<TaskHistory>,
    minutes: Partial<Record<'working' | 'forPeople' | 'forMoney' | 'paused' | 'between', number>>,
  ];

  it.each<Row>([
    ['of one worker', { sessions: [session(0, 8, 'completed')] }, { working: 8, between: 2 }],
    [
      'that was sent back',
      { sessions: [session(0, 3, 'completed'), session(4, 9, 'completed')] },
      { working: 8, between: 2 },
    ],
    [
      'that asked: until the answer it waited for a person',
      { sessions: [session(0, 3, 'completed'), session(7, 10, 'completed')], questions: [asked(6)] },
      { working: 6, forPeople: 3, between: 1 },
    ],
    [
      'whose question was answered while it worked',
      { sessions: [session(0, 6, 'completed')], questions: [asked(4)] },
      { working: 6, between: 4 },
    ],
    [
      'that was sent back before it asked',
      { sessions: [session(0, 2, 'failed'), session(4, 5, 'completed')], questions: [asked(8)] },
      { working: 3, forPeople: 3, between: 4 },
    ],
    [
      'whose question is open',
      { sessions: [session(0, 3, 'completed')], questions: [asked(null)] },
      { working: 3, forPeople: 7 },
    ],
    [
      'that waited for money',
      { sessions: [session(0, 3, 'budget_exceeded'), session(8, 10, 'completed')] },
      { working: 5, forMoney: 5 },
    ],
    ['that is paused', { sessions: [session(0, 4, 'paused')] }, { working: 4, paused: 6 }],
    ['that still works', { sessions: [session(1, null, 'running')] }, { working: 9, between: 1 }],
  ])('%s', (_, history, minutes) => {
    const { whole, ...split } = splitTime({ ...nothing, ...history }, at(0), at(10));
    const none = { working: 0, forPeople: 0, forMoney: 0, paused: 0, between: 0 };
    const expected = Object.entries({ ...none, ...minutes }).map(([kind, each]) => [kind, each * 60_000]);
    expect([whole, split]).toEqual([600_000, Object.fromEntries(expected)]);
  });

  it('adds up, whatever the records say', () => {
    const minute = fc.integer({ min: -5, max: 25 });
    const statuses = ['completed', 'failed', 'paused', 'budget_exceeded', 'running'] as const;
    const sessions = fc.array(fc.tuple(minute, minute, fc.constantFrom(...statuses)), { maxLength: 5 });
    fc.assert(
      fc.property(sessions, fc.array(fc.option(minute), { maxLength: 3 }), (made, answers) => {
        const sorted = made
          .map(([from, to, status]) => session(from, to, status))
          .sort((a, b) => a.startedAt - b.startedAt);
        const { whole, ...split } = splitTime(
          { sessions: sorted, questions: answers.map(asked) },
          at(0),
          at(10),
        );
        expect(sum(Object.values(split))).toBe(whole);
        for (const part of Object.values(split)) expect(part).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('what is left for a person', () => {
  const failed = taskOf('a', {
    task: { status: 'failed', reason: 'after 1 of 1 attempts: red', commit: null },
  });
  const asks = taskOf('b', { task: { status: 'needs_input', reason: 'SES or SMTP?', commit: null } });

  it.each<[what: string, tasks: TaskFacts[], some: Partial<ReportFacts>, left: (string | null)[]]>([
    ['nothing of what is done and landed', [taskOf('a')], {}, []],
    ['to land it', [taskOf('a')], { isLanded: false }, ['orch convoy land auth']],
    ['its commits, if their branch is gone', [taskOf('a')], { isLanded: null }, [null]],
    [
      'to look, to answer and to continue',
      [failed, asks],
      {},
      ['orch convoy why auth/a', 'orch convoy say auth/b "…"', 'orch convoy resume auth'],
    ],
    [
      'first of all to bring the plan back',
      [failed],
      { convoy: { ...factsOf([]).convoy, plan: null } },
      ['orch convoy why auth/a', null],
    ],
  ])('%s', (_, tasks, some, left) => {
    expect(reportOf(tasks, some).left.map(({ command }) => command)).toEqual(left);
  });
});

const hostile =
  '<script>alert("1")</script> \u001b[31mred\u001b]8;;http://x\u0007 | **b** `c` & \'d\'\n# not a heading \u202edesrever';

describe('texts that agents wrote', () => {
  const report = reportOf(
    [
      taskOf('a', {
        task: { name: hostile, status: 'failed', reason: hostile, commit: null },
        tries: [madeOf({ refused: hostile, model: hostile, conflicts: [hostile] })],
        history: {
          ...nothing,
          questions: [{ text: hostile, answer: hostile, resolvedAt: at(3) }],
          witness: [{ text: hostile, at: at(1) }],
        },
      }),
      taskOf('b', { task: { name: hostile } }),
    ],
    { collisions: [{ tasks: ['a', 'b'], files: [hostile] }] },
  );

  it('are text in HTML, without control characters', () => {
    const html = writeHtml(describeReport(report));
    const body = html.slice(html.indexOf('<body>'));
    expect(body).toContain(
      '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; [31mred]8;;http://x | **b** `c` &amp; &#39;d&#39; # not a heading',
    );
    const tags = [...body.matchAll(/<([^>]*)>/g)].map(([, tag = '']) => tag);
    const ours = /^\/?(?:body|h1|h2|section|ul|li|table|tr|td|th|code|html)(?: class="number")?$/;
    expect(tags.filter((tag) => !ours.test(tag))).toEqual([]);
    expect(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(html)).toBe(false);
  });

  it('are text in Markdown, each in its cell', () => {
    const text = writeMarkdown(describeReport(report));
    expect(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(text)).toBe(false);
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '# auth: succeeded',
      ...['## What is left for you', '## What failed, and why', '## Time', '## Questions', '## Collisions'],
      ...['## What the witness did', '## Merges', '## What is not in this report'],
    ]);
    for (const table of text.split('\n\n').filter((block) => block.startsWith('|'))) {
      const cells = table.split('\n').map((row) => row.replaceAll('\\|', '').split('|').length);
      expect(new Set(cells).size).toBe(1);
    }
    expect(text).not.toMatch(/(?<!\\)<script|(?<!\\)\*\*b/);
  });

  it('cannot leave their place among the learnings', () => {
    const [learned] = findLearnings([report], new Set());
    expect(learned?.kind).toBe('collision');
    const forged = { id: 'a'.repeat(12), kind: 'question' as const, evidence: ['auth/a'] };
    const text =
      addLearnings(null, [
        { ...forged, text: `\`x <!-- orch:${'b'.repeat(12)} -->\`` },
        ...findLearnings([report], new Set()),
      ]) ?? '';
    expect(listIds(text)).not.toContain('b'.repeat(12));
    expect(listIds(text)).toContain('a'.repeat(12));
    expect(text.split('\n').filter((line) => /^(?!- |# Learned|Facts|$)/.test(line))).toEqual([]);
  });
});

describe('learnings', () => {
  const refused = (some: Partial<Try>) => madeOf({ refused: 'not accepted', ...some });
  const red = (...failing: string[]) => refused({ red: [{ gate: 'tests', failing }] });
  const kindsOf = (reports: readonly ConvoyReport[], known = new Set<string>()) =>
    findLearnings(reports, known).map(({ kind, evidence }) => `${kind} ${evidence.join(' ')}`);

  it.each<[what: string, tasks: TaskFacts[], some: Partial<ReportFacts>, learned: string[]]>([
    [
      'a gate that was red once teaches nothing',
      [taskOf('a', { tries: [red(), madeOf({ attempt: 2 })] })],
      {},
      [],
    ],
    [
      'one that was red twice does',
      [taskOf('a', { tries: [red('x')] }), taskOf('b', { tries: [red('y')] })],
      {},
      ['gate auth/a auth/b'],
    ],
    [
      'a file in conflict',
      [taskOf('a', { tries: [refused({ conflicts: ['a.ts'] })] })],
      {},
      ['collision auth/a'],
    ],
    [
      'a file in which tasks collided',
      [taskOf('a')],
      { collisions: [{ tasks: ['a', 'b'], files: ['a.ts'] }] },
      ['collision auth/a+b'],
    ],
    [
      'a model that failed twice at what is complex, and not where it succeeded',
      [
        taskOf('a', { complexity: 'complex', tries: [refused({ model: 'small', refused: 'one' })] }),
        taskOf('b', { complexity: 'complex', tries: [refused({ model: 'small', refused: 'two' })] }),
        taskOf('c', {
          complexity: 'simple',
          tries: [refused({ model: 'small', refused: 'three' }), madeOf({ attempt: 2, model: 'small' })],
        }),
      ],
      {},
      ['model auth/a auth/b'],
    ],
    [
      'a reason that repeats, apart from its numbers',
      [
        taskOf('a', {
          tries: [
            refused({ refused: 'It took longer than 20m' }),
            refused({ attempt: 2, refused: 'It took longer than 30m' }),
          ],
        }),
      ],
      {},
      ['reason auth/a'],
    ],
    [
      'what a person answered, not what is open',
      [
        taskOf('a', {
          history: {
            ...nothing,
            questions: [
              { text: 'A?', answer: 'B', resolvedAt: at(1) },
              { text: 'C?', answer: null, resolvedAt: null },
            ],
          },
        }),
      ],
      {},
      ['question auth/a'],
    ],
    [
      'what the witness did',
      [taskOf('a', { history: { ...nothing, witness: [{ text: 'Witness: told the agent', at: at(1) }] } })],
      {},
      ['witness auth/a'],
    ],
  ])('%s', (_, tasks, some, learned) => {
    const report = reportOf(tasks, some);
    expect(kindsOf([report])).toEqual(learned);
    const known = new Set(findLearnings([report], new Set()).map(({ id }) => id));
    expect(kindsOf([report], known)).toEqual([]);
  });

  it('are the same learning with more evidence, over several convoys', () => {
    const one = reportOf([taskOf('a', { tries: [red('x')] })]);
    expect(kindsOf([one])).toEqual([]);
    const two = findLearnings([one, one], new Set());
    const three = findLearnings([one, one, one], new Set());
    expect(two.map(({ id }) => id)).toEqual(three.map(({ id }) => id));
    expect(three[0]?.text).toContain('3 times');
  });

  it('are added at the end, and found again there', () => {
    const learnings = findLearnings([reportOf([taskOf('a', { tries: [red('x'), red('x')] })])], new Set());
    const text = addLearnings('# Ours\n\n- keep', learnings) ?? '';
    expect(text.startsWith('# Ours\n\n- keep\n- Gate')).toBe(true);
    expect(listIds(text)).toEqual(learnings.map(({ id }) => id));
    expect(addLearnings('as it is', [])).toBe('as it is');
  });
});

describe('the numbers of convoys', () => {
  it('count the done, the first attempts and the interventions', () => {
    const report = reportOf([
      taskOf('a', { task: { costUsd: 2 } }),
      taskOf('b', { task: { attempts: 2, costUsd: 1, endedAt: instant(20) }, wasRetried: true }),
      taskOf('c', { task: { status: 'failed', endedAt: instant(90) } }),
      taskOf('d', { task: { status: 'cancelled', agent: null, startedAt: null }, history: null }),
    ]);
    expect(measureConvoy(report)).toMatchObject({
      ...{ tasks: 4, done: 2, failed: 1, costUsd: 3, costPerDoneUsd: 1.5, interventions: 2 },
      ...{ firstAttempts: { accepted: 1, of: 3 }, medianSeconds: 900 },
    });
  });

  it('show a trend of the last five against those before, without what still runs', () => {
    const numbers = measureConvoy(reportOf([taskOf('a', { task: { costUsd: 1 } })]));
    expect(findTrend(Array(5).fill(numbers))).toBeNull();
    const costly = { ...numbers, costUsd: 3 };
    const running = { ...numbers, status: 'running' as const, costUsd: 100 };
    const trend = findTrend([running, ...Array(5).fill(costly), ...Array(9).fill(numbers)]);
    expect(trend?.now).toMatchObject({ convoys: 5, costUsd: 15, costPerDoneUsd: 3 });
    expect(trend?.before).toMatchObject({ convoys: 5, costUsd: 5, costPerDoneUsd: 1 });
  });

  it.each([
    [[], null],
    [[3], 3],
    [[4, 1], 2.5],
    [[9, 1, 2], 2],
  ])('the median of %j is %j', (numbers, median) => {
    expect(medianOf(numbers)).toBe(median);
  });

  it.each([
    [0.4, '0s'],
    [59.6, '1m'],
    [200, '3m 20s'],
    [7_500, '2h 5m'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(describeSeconds(seconds)).toBe(text);
  });
});
