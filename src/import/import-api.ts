import { OrchError } from '../errors.ts';
import { maxPlanBytes } from '../plan/parse-plan.ts';
import type { Redactor } from '../redact/redactor.ts';
import { presetRedactor } from '../redact/redactor.ts';
import { cleanLine } from '../text.ts';
import { count, formatSize } from '../units.ts';
import type { ImportReport } from './import-report.ts';
import type { Imported, Source } from './imported-issue.ts';
import { type DraftPlan, type DraftTask, planFromIssues } from './plan-from-issues.ts';
import { writePlanText } from './plan-text.ts';
import { importInvalid } from './read-export.ts';
import { type ImportInput, readSource } from './read-source.ts';

export type ImportRequest = {
  readonly source: Source;
  readonly input: ImportInput;
  /** Take only this convoy and what its members need. */
  readonly convoy?: string | undefined;
  /** Write a plan even if something has no place in it. */
  readonly allowLoss?: boolean;
};

export type ImportedPlan = {
  /** The plan as YAML; null if something would be lost, and that was not allowed. */
  readonly plan: string | null;
  readonly tasks: readonly { readonly id: string; readonly name: string; readonly issue: string | null }[];
  readonly dependencies: readonly { readonly task: string; readonly needs: string; readonly when: string }[];
  readonly report: ImportReport;
};

/** Turns the issues of a tracker into a convoy's plan, with an account of all of them. Writes no file. */
export async function importPlan({
  source,
  input,
  convoy,
  allowLoss = false,
}: ImportRequest): Promise<ImportedPlan> {
  const imported = readSource(source, input);
  if (convoy !== undefined) requireConvoy(imported, convoy);
  const draft = await redactDraft(planFromIssues(imported, convoy ?? null), presetRedactor);
  const { tasks, report } = draft;
  const isAllowed = allowLoss || report.lost.length === 0;
  if (isAllowed && tasks.length === 0)
    throw importInvalid(describeNothing(report), 'There is nothing to plan. Nothing was written.', {
      report,
    });
  const plan = isAllowed ? writePlanText({ name: draft.name, head: describeOrigin(report), tasks }) : null;
  return {
    plan,
    tasks: tasks.map(({ id, name, issue }) => ({ id, name, issue })),
    dependencies: tasks.flatMap(({ id, needs, when }) =>
      needs.map((need) => ({ task: id, needs: need, when })),
    ),
    report: { ...report, notes: [...report.notes, ...noteSize(plan)] },
  };
}

function noteSize(plan: string | null): string[] {
  const bytes = Buffer.byteLength(plan ?? '');
  if (bytes <= maxPlanBytes) return [];
  return [
    `the plan has ${formatSize(bytes)}, and orch reads plans of up to ${formatSize(maxPlanBytes)}: split it`,
  ];
}

/** More would scroll the rest off the screen. */
const mostNamed = 20;

/** The error of an import that would lose something. */
export function incompleteImport({ lost }: ImportReport, command: string): OrchError {
  const amount = (kind: string, noun: string) => {
    const found = lost.filter((each) => each.kind === kind).length;
    return found === 0 ? [] : [count(found, noun)];
  };
  const all = [
    ...amount('database', 'unread database'),
    ...amount('line', 'unreadable line'),
    ...amount('export', 'incomplete export'),
    ...amount('issue', 'issue'),
    ...amount('dependency', 'dependency').map((text) => text.replace('dependencys', 'dependencies')),
  ];
  const verb = lost.length === 1 ? 'has' : 'have';
  const lines = [
    `${all.join(', ')} ${verb} no place in the plan; nothing was written:`,
    ...lost.slice(0, mostNamed).map(({ what, why }) => `  ${what}: ${why}`),
    ...(lost.length > mostNamed ? [`  and ${lost.length - mostNamed} more; --json lists all`] : []),
  ];
  return new OrchError('IMPORT_INCOMPLETE', lines.join('\n       '), {
    hint: `Fix that and import again, or accept it: ${command}`,
    data: { lost },
  });
}

function requireConvoy({ issues }: Imported, convoy: string): void {
  const convoys = issues.filter(({ isConvoy, isClosed }) => isConvoy && !isClosed);
  if (convoys.some(({ id }) => id === convoy)) return;
  const known = issues.find(({ id }) => id === convoy);
  const problem =
    known === undefined
      ? 'is not among the issues'
      : known.isConvoy
        ? 'is closed: nothing is left to do in it'
        : 'is not a convoy';
  const names = convoys.slice(0, 10).map(({ id, title }) => `${id} (${cleanLine(title, 60)})`);
  throw importInvalid(
    `${cleanLine(convoy, 100)} ${problem}`,
    names.length === 0
      ? 'There are no open convoys: leave out --convoy'
      : `Open convoys: ${names.join(', ')}${convoys.length > names.length ? ', …' : ''}`,
  );
}

function describeNothing({ issues: { read, closed, leftOut }, files }: ImportReport): string {
  if (leftOut > 0) return 'no member of this convoy is open work';
  const where = files.length > 2 ? `${files[0]} and ${files.length - 1} other files` : files.join(' and ');
  if (read === 0) return `there are no issues in ${where}`;
  return closed === read
    ? `all ${count(read, 'issue')} in ${where} are closed: nothing is left to do`
    : `none of the ${count(read, 'issue')} in ${where} is open work`;
}

function describeOrigin({ source, issues, lost }: ImportReport): string[] {
  const name = { beads: 'Beads', gastown: 'Gas Town', gascity: 'Gas City', github: 'GitHub' }[source];
  return [
    `Imported from ${name}: ${count(issues.tasks, 'task')} of ${count(issues.read, 'issue')}. Review it before agents work on it:`,
    'the prompts are what people and programs wrote there.',
    ...(lost.length === 0
      ? []
      : [
          `${count(lost.length, 'thing')} had no place here and ${lost.length === 1 ? 'was' : 'were'} left out on request.`,
        ]),
  ];
}

/** Takes secrets out of everything that came from the tracker. */
async function redactDraft({ name, tasks, report }: DraftPlan, { redact }: Redactor): Promise<DraftPlan> {
  const redacted: string[] = [];
  const clean: DraftTask[] = [];
  for (const task of tasks) {
    const prompt = task.prompt === null ? null : await redact(task.prompt);
    const title = await redact(task.name);
    const labels = await Promise.all(task.labels.map(redact));
    if (prompt !== task.prompt || title !== task.name || labels.join('\n') !== task.labels.join('\n'))
      redacted.push(task.issue ?? task.id);
    clean.push({ ...task, prompt, name: title.slice(0, 64), labels: [...new Set(labels)] });
  }
  const memories = await Promise.all(
    report.memories.map(async ({ key, value }) => ({ key: await redact(key), value: await redact(value) })),
  );
  const lost = await Promise.all(
    report.lost.map(async (each) => ({ ...each, what: await redact(each.what) })),
  );
  return { name, tasks: clean, report: { ...report, memories, lost, redacted } };
}
