import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { findClaims, withoutClaims } from '../../../src/config/load.ts';
import { parseConfig } from '../../../src/config/parse.ts';
import { editYamlRows, setYamlValues } from '../../../src/config/yaml/yaml-edit.ts';
import { planInvalid } from '../../../src/config/yaml/yaml-page.ts';
import { settingsOf } from '../../../src/journal/session-settings.ts';
import { readResumption } from '../../../src/orchestration-file/resumption.ts';
import { withoutMark } from '../../../src/orchestration-file/write-back.ts';
import { expandItems } from '../../../src/plan/items.ts';
import { parsePlan } from '../../../src/plan/parse-plan.ts';
import { findCycles, listBatches, orderTasks } from '../../../src/plan/schedule/graph.ts';
import { nothingKnown, openSchedule } from '../../../src/plan/schedule/schedule.ts';
import { parseSpec } from '../../../src/spec/read-spec.ts';
import {
  formatSpecCheckpoint,
  parseFoundIssues,
  parseSpecCheckpoint,
} from '../../../src/spec/spec-checkpoint.ts';
import { dependenciesYaml, tasksYaml } from '../../support/spec-texts.ts';
import { must, mustBeShowable, type Target } from '../target.ts';
import { at, oid } from './epic.ts';

const template = (name: string) => readFileSync(`templates/${name}`, 'utf8');
const buffers = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));

const wholeConfig = template('config.yaml').replace(/^(\s*)# (?=[a-zA-Z]+:)/gm, '$1');

const config: Target = {
  name: 'config',
  form: 'yaml',
  weight: 3,
  samples: buffers(
    wholeConfig,
    template('config.yaml'),
    `budget: 5.50\ngates:\n  - { name: test, run: npm test, timeout: 5m }\n  - { name: lint, run: [npx, eslint, .], fix: [npx, eslint, --fix, .] }\nredact:\n  patterns: ['ACME-[0-9]{8}', '(a+)+b']\nprices:\n  m: { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 }\n`,
  ),
  run: (input) => {
    const found = parseConfig(input.toString('utf8'), 'config.yaml');
    const settings = settingsOf(found);
    must(
      found.budget === null || (Number.isSafeInteger(found.budget) && found.budget >= 0),
      'a budget is money',
    );
    for (const time of [settings.stopGrace, settings.policy.interval])
      must(time === null || (Number.isFinite(time) && time >= 0), `a time of ${time}`);
    must(Number.isFinite(settings.maxFileBytes), 'a size is a number');
    for (const price of Object.values(found.prices))
      for (const amount of Object.values(price))
        must(amount === null || (Number.isFinite(amount) && amount >= 0), `a price of ${amount}`);
    for (const pattern of found.redact.patterns) new RegExp(pattern, 'g');
    must(findClaims(withoutClaims(found, findClaims(found))).length === 0, 'what is taken out is out');
    return 'accepted';
  },
};

const plan: Target = {
  name: 'plan',
  form: 'yaml',
  weight: 3,
  samples: buffers(template('plans/release.yaml'), template('plans/agent.yaml')),
  run: (input) => {
    const text = input.toString('utf8');
    const found = parsePlan(text, 'plan.yaml');
    must(parsePlan(text, 'plan.yaml').digest === found.digest, 'a plan has one digest');
    must(findCycles(found.tasks).length === 0, 'no plan waits for itself');
    must(orderTasks(found.tasks).length === found.tasks.length, 'every task has a place');
    must(listBatches(found.tasks).flat().length === found.tasks.length, 'every task is in a batch');
    const schedule = openSchedule(found.tasks, nothingKnown, 3, expandItems);
    const most =
      found.tasks.reduce((sum, { repeat }) => sum + (repeat?.attempts ?? 0), 1) * found.tasks.length;
    for (let turns = 0; ; turns++) {
      must(turns <= 3 * most, 'a schedule ends');
      const { ready, decisions } = schedule.next();
      const rounds = decisions.flatMap((each) => (each.kind === 'round' ? [each.task.id] : []));
      for (const id of rounds) schedule.beginRound(id);
      if (ready.length + rounds.length === 0) break;
      for (const { id } of ready) schedule.finish(id, { status: turns % 2 === 0 ? 'succeeded' : 'failed' });
      if (turns > 10_000) break; // a loop with a generous bound
    }
    for (const task of found.tasks) {
      must(
        task.timeout === null || (Number.isFinite(task.timeout) && task.timeout >= 0),
        'a timeout is a time',
      );
      must(Number.isSafeInteger(task.retry.attempts) && task.retry.attempts > 0, 'attempts are counted');
    }
    return 'accepted';
  },
};

const between = '\n=====\n';

const spec: Target = {
  name: 'spec',
  form: 'yaml',
  weight: 3,
  samples: buffers(
    `${tasksYaml}${between}${dependenciesYaml}`,
    `${template('spec/tasks.yaml')}${between}${template('spec/dependencies.yaml')}`,
  ),
  run: (input) => {
    const [tasks = '', dependencies = ''] = input.toString('utf8').split(between);
    const { spec: found, mistakes } = parseSpec({ folder: 'specs/a', tasks, dependencies });
    if (mistakes.length > 0) {
      const { message } = planInvalid(mistakes);
      must(message.length < 100_000, `a message of ${message.length} characters`);
      return 'refused';
    }
    orderTasks(found.tasks);
    const [first] = found.tasks;
    if (first === undefined) return 'accepted';
    const evidence = { commits: ['abc'], files: ['a b'] };
    const changes = { status: 'completed', note: 'é: #"\n', evidence };
    const edit = { index: first.index, changes };
    const edited = editYamlRows(tasks, 'tasks', [edit]);
    if (!('problem' in edited)) {
      mustKeepRest(tasks, edited.text, /status|note|evidence|commits|files/);
      must(
        parseSpec({ folder: 'specs/a', tasks: edited.text, dependencies }).mistakes.length === 0,
        'it can be read',
      );
    }
    return 'accepted';
  },
};

/** Lines that say nothing of what is edited are all still there, in their order. */
function mustKeepRest(before: string, after: string, edited: RegExp): void {
  const withoutEnd = (text: string) => text.split('\n').map((line) => line.replace(/\r+$/, ''));
  const lines = withoutEnd(after);
  let at = 0;
  for (const line of withoutEnd(before)) {
    if (edited.test(line) || line.trim() === '') continue;
    // Where the whole file is in braces, a section comes right behind the first.
    const rest = /^ *\{/.test(line) ? line.trimStart().slice(1) : null;
    const found = lines.findIndex(
      (other, index) => index >= at && (other === line || (rest !== null && other.endsWith(rest))),
    );
    // A value may go over several lines, and is replaced with all of them.
    if (found < 0 && edited.test(before) && /^\s+\S/.test(line)) continue;
    must(found >= 0, `the line ${JSON.stringify(line.slice(0, 80))} is gone or changed`);
    at = found + 1;
  }
}

const specCheckpoint: Target = {
  name: 'spec checkpoint',
  form: 'yaml',
  weight: 3,
  samples: buffers(
    formatSpecCheckpoint({
      name: 'auth',
      folder: 'specs/a',
      timestamp: '2026-11-16T10:00:00Z',
      checkpoint: {
        branch: 'main',
        lastBatch: 2,
        lastCommit: oid,
        deferred: [{ batch: 1, severity: 'low', description: 'later', location: 'a:1' }],
        reviewConfig: { reviewers: ['x'] },
        others: { mine: [1, { a: null }] },
      },
      tasks: [],
      next: null,
    }),
    '- {severity: high, description: "a bug", location: "src/a.ts:3"}\n- {severity: low, description: b, location: null}\n',
  ),
  run: (input) => {
    const text = input.toString('utf8');
    if (!text.includes('checkpoint'))
      return parseFoundIssues('issues.yaml', text).length > 0 ? 'accepted' : 'refused';
    const { completed: _, ...found } = parseSpecCheckpoint('checkpoint.yaml', text);
    const about = { name: 'a', folder: 'b', timestamp: '2026-11-16T10:00:00Z', tasks: [], next: null };
    const { completed: __, ...again } = parseSpecCheckpoint(
      'again.yaml',
      formatSpecCheckpoint({ ...about, checkpoint: found }),
    );
    // What was never said is written as nobody.
    const expected = { ...found, reviewConfig: found.reviewConfig ?? { reviewers: [] } };
    must(isDeepStrictEqual(again, expected), 'what is written says the same');
    return 'accepted';
  },
};

const fullState = `# top
workflow: {name: Move, status: ACTIVE}
pipelines:
  - id: P1
    status: done # soon
    steps: [{id: a, depends_on: [b]}, {id: b}]
blockers:
  active: [{id: BLK-1, description: "no access"}, "a plain one"]
next_actions:
  immediate: [{action: "Run phase 2"}]
resumption:
  next_step: "Write the adapter"
  files_to_read:
    - {path: PLAN.md, priority: 2, purpose: "the plan"}
    - LATER.md
  decisions:
    - {id: RD-1, decision: "Keep the old ids"}
  latest_checkpoint_id: ckpt-00000058-k3f9qz
  fill_percentage: 0.64
  tier: LOW
  checkpoint_timestamp: "2026-03-01T11:30:00Z"
tail: |
  text
  more
`;

const marks = {
  latest_checkpoint_id: 'ckpt-00000059-abcdef',
  fill_percentage: 0.5,
  tier: 'WARNING',
  checkpoint_timestamp: '2026-11-16T10:00:00.000Z',
};

const orchestration: Target = {
  name: 'ORCHESTRATION.yaml',
  form: 'yaml',
  weight: 3,
  samples: buffers(
    fullState,
    'resumption: {tier: LOW, next_step: x}\n',
    'a: &a 1\nresumption:\n',
    '# nothing\n',
  ),
  run: (input) => {
    const text = input.toString('utf8');
    const found = readResumption(text, at);
    if (!('problem' in found)) {
      for (const said of [
        found.workflow,
        found.phase,
        found.status,
        found.nextStep,
        ...found.blockers,
        ...found.decisions,
      ])
        if (said !== null) mustBeShowable(said, 'the resumption');
      const fill = found.checkpoint.fillPercentage;
      must(fill === null || Number.isFinite(fill), `a fill of ${fill}`);
    }
    const edited = setYamlValues(text, 'resumption', marks);
    if ('problem' in edited) return 'refused';
    mustKeepRest(
      text,
      edited.text,
      /latest_checkpoint_id|fill_percentage|tier|checkpoint_timestamp|resumption/,
    );
    must(
      isDeepStrictEqual(setYamlValues(edited.text, 'resumption', marks), edited),
      'once more changes nothing',
    );
    const { resumption } = parse(edited.text, { logLevel: 'error' }) as { resumption: object };
    for (const [key, value] of Object.entries(marks))
      must(
        isDeepStrictEqual((resumption as Record<string, unknown>)[key], value),
        `${key} is not what was set`,
      );
    const [open, openAgain] = [withoutMark(Buffer.from(text)), withoutMark(Buffer.from(edited.text))];
    must(open === null || openAgain !== null, 'a mark can be taken out again');
    return 'accepted';
  },
};

/** Longer ones are refused before they are read. */
const mostBytes = 256 * 1024;

export const yamlTargets: readonly Target[] = [config, plan, spec, specCheckpoint, orchestration].map(
  (target) => ({
    ...target,
    run: (input, random) => (input.length > mostBytes ? 'refused' : target.run(input, random)),
  }),
);
