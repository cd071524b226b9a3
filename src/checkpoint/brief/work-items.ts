import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import { mostOpen } from '../../state/fold.ts';
import type { GateResult, IssueUpdate, State } from '../../state/lists.ts';
import { type RunPart, runOf } from '../../state/runs.ts';
import type { EpicId } from '../../types.ts';
import { count } from '../../units.ts';
import { type DraftItem, formatFirst, type Gathered, type KeyedEntry, sortNewest } from './brief-items.ts';
import { codeText, plainText } from './brief-text.ts';

const severities: readonly (string | null)[] = ['critical', 'high', 'medium', 'low', null];
const urgency: readonly string[] = ['in_progress', 'open', 'deferred'];

/** Open issues: deferred ones last, the others by severity, those in progress first. */
export function gatherLeft({ issues }: State, most: number): Gathered {
  const left = sortNewest(issues).filter(({ value }) => value.status !== 'done');
  const rank = ({ severity, status }: IssueUpdate) =>
    (status === 'deferred' ? 100 : 0) + severities.indexOf(severity) * 10 + urgency.indexOf(status);
  left.sort((a, b) => rank(a.value) - rank(b.value));
  return formatFirst(left, most, ({ key, value }) => {
    const about = [value.severity, value.status.replace('_', ' '), value.location].filter(
      (part) => part !== null && part !== 'open',
    );
    return `${nameIssue(key, value)}${about.length > 0 ? ` (${plainText(about.join(', '), 120)})` : ''}`;
  });
}

/** Commits and completed issues, newest first. */
export function gatherDone({ issues, commits }: State, most: number): Gathered {
  const done = sortNewest(issues).filter(({ value }) => value.status === 'done');
  const { items, leftOut } = formatFirst(done, most, ({ key, value }) => nameIssue(key, value));
  return { items: [...describeCommits(commits), ...items], leftOut };
}

/** `3 commits, the last “limiter wip”, “session store”`. */
function describeCommits(commits: State['commits']): DraftItem[] {
  const newest = sortNewest(commits);
  const [last] = newest;
  if (last === undefined) return [];
  const named = newest.slice(0, 4).map(({ value }) => `“${plainText(value.subject, 100)}”`);
  const lead = newest.length === 1 ? '1 commit, ' : `${newest.length} commits, the last `;
  return [{ key: last.key, text: `${lead}${named.join(', ')}`, by: last.stamp[1] }];
}

/** An agent's own task number means nothing to the next agent; an id given by hand does. */
function nameIssue(key: string, { title }: IssueUpdate): string {
  const isNumbered = /^(?:task |todo: )/.test(key);
  return plainText(title === null ? key : isNumbered || title === key ? title : `${key} ${title}`, 160);
}

const failed = ({ status }: GateResult) => status === 'failed' || status === 'timed_out';

/** Did this work break a gate or the tests? */
export function isFailing(state: State): boolean {
  return (
    readCurrent(state, 'testState')?.status === 'failed' ||
    Object.values(state.gates).some(({ value }) => failed(value) && !value.knownBefore)
  );
}

/** What fails: first what this work broke, then what failed before. */
export function gatherFailing(state: State, most: number): Gathered {
  const gates = sortNewest(state.gates).filter(({ value }) => failed(value));
  const all = [
    ...gates.filter(({ value }) => !value.knownBefore).map((gate) => () => describeGate(gate)),
    ...describeTests(state),
    ...gates.filter(({ value }) => value.knownBefore).map((gate) => () => describeGate(gate)),
  ];
  // Formatted only if shown: thousands of tests may fail.
  const items = all.slice(0, most).map((describe) => describe());
  return { items, leftOut: all.length - items.length };
}

function describeGate({ key, value, stamp }: KeyedEntry<GateResult>): DraftItem {
  const how = value.status === 'timed_out' ? 'timed out' : 'failed';
  const before = value.knownBefore ? ', as it did before this session' : '';
  const end = describeFailures(value) || describeTail(value.output);
  return { key, text: `${codeText(key, 80)} ${how}${before}${end ? `: ${end}` : ''}`, by: stamp[1] };
}

/** The failed tests by name, with what was expected, if the gate reports them. */
function describeFailures({ failing = [] }: GateResult): string {
  const said = failing
    .slice(0, 3)
    .map(({ name, why }) => `${codeText(name, 120)}${why ? ` ${plainText(why, 120)}` : ''}`);
  const more = failing.length > said.length ? [`and ${failing.length - said.length} more`] : [];
  return [...said, ...more].join('; ');
}

function describeTail(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return plainText(lines.slice(-3).join(' / '), 240);
}

function describeTests(state: State): (() => DraftItem)[] {
  const tests = readCurrent(state, 'testState');
  if (tests?.status !== 'failed') return [];
  const by = lookUp(state.current, 'testState')?.stamp[1] ?? null;
  const names = tests.failing.filter((name) => typeof name === 'string');
  const isNumber = (amount: unknown) => typeof amount === 'number';
  const of = isNumber(tests.total) ? ` of ${count(Number(tests.total), 'test')}` : '';
  const figure = isNumber(tests.failed) ? `${tests.failed}${of} failed` : 'tests failed';
  const said = typeof tests.text === 'string' ? plainText(tests.text, 200) : '';
  return [
    () => ({ key: null, text: `${figure}${said ? `: ${said}` : ''}`, by }),
    ...names.map((name) => () => {
      const why = lookUp(tests.why ?? {}, name);
      const expected = typeof why === 'string' ? `: ${plainText(why, 160)}` : '';
      return { key: null, text: `test ${codeText(name, 160)}${expected}`, by };
    }),
  ];
}

/** The newest run of each plan that is unfinished, with what it still has to do; of a convoy also one that is done. */
export function gatherRuns(state: State, most: number, epic: EpicId | null = null): Gathered {
  const { runs } = state;
  const convoy = readCurrent(state, 'convoy')?.run;
  const plans = new Set<string>();
  const unfinished = sortNewest(runs).filter(({ key, value }) => {
    const plan = value.head?.plan ?? runOf(key);
    const isNewest = !plans.has(plan) && !plans.has(runOf(key));
    plans.add(plan).add(runOf(key));
    return isNewest && (isUnfinished(value) || runOf(key) === convoy);
  });
  return formatFirst(unfinished, most, ({ key, value }) => {
    const plan = value.head === null ? '' : `${plainText(value.head.plan, 80)} `;
    const status = value.head?.status.replace('_', ' ') ?? 'unfinished';
    const parts = [
      `${plan}(${codeText(runOf(key), 64)}) ${status}`,
      ...(runOf(key) === convoy ? describeConvoy(value, epic) : []),
      ...describeTasks(value),
      ...describeEffects(value),
    ];
    return parts.join('; ');
  });
}

const openTasks = ({ tasks }: RunPart) =>
  Object.entries(tasks).filter(
    ([, { status, worker }]) =>
      status === 'running' || status === 'failed' || (status === 'pending' && worker),
  );
const openEffects = ({ effects }: RunPart) =>
  Object.entries(effects).filter(([, { status }]) => status !== 'acknowledged');

function isUnfinished(part: RunPart): boolean {
  if (part.head !== null) return part.head.status !== 'succeeded';
  return openTasks(part).length + openEffects(part).length > 0;
}

function describeTasks(part: RunPart): string[] {
  const open = openTasks(part).sort(byKey);
  const said = open.slice(0, 5).map(([id, task]) => `${plainText(id, 40)} ${describeTask(task)}`);
  return said.length === 0 ? [] : [`${countOpen(open, 'task')} not done: ${said.join(', ')}`];
}

/** What agents do is said with why it waits. */
function describeTask({ status, worker, why }: RunPart['tasks'][string]): string {
  if (worker === undefined) return status;
  const step = status === 'failed' ? status : worker.step.replace('_', ' ');
  const isWaiting = why !== undefined && status !== 'running';
  return isWaiting ? `${step} (${plainText(why, 120)})` : step;
}

/** Where the work of its agents is. */
function describeConvoy({ head }: RunPart, epic: EpicId | null): string[] {
  const size = head?.tasks === undefined ? [] : [`a convoy of ${count(head.tasks, 'task')}`];
  if (epic === null) return size;
  return [...size, `what is merged is on branch ${codeText(`orch/${epic}/merged`, 96)}`];
}

function describeEffects(part: RunPart): string[] {
  const open = openEffects(part).sort(byKey);
  const said = open.slice(0, 5).map(([id, { status, reason }]) => {
    const why = reason === null ? '' : ` (${plainText(reason, 80)})`;
    return `${plainText(id, 40)} ${status}${why}`;
  });
  return said.length === 0 ? [] : [`${countOpen(open, 'effect')} not acknowledged: ${said.join(', ')}`];
}

/** The document may know only the newest ones. */
function countOpen({ length }: readonly unknown[], noun: string): string {
  return `${length === mostOpen ? 'at least ' : ''}${count(length, noun)}`;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
