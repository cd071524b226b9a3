import { isRecord } from '../checks.ts';
import { readYaml } from '../config/yaml/yaml-text.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';

export type FileToRead = {
  readonly path: string;
  /** 1 is the most important. */
  readonly priority: number | null;
  readonly purpose: string | null;
};

/** A step of the plan, with its parts. */
export type PlanStep = {
  readonly name: string;
  readonly status: string | null;
  readonly waitsFor: readonly string[];
  readonly parts: readonly PlanStep[];
};

/** What an ORCHESTRATION.yaml says about the work. */
export type Resumption = {
  readonly workflow: string | null;
  readonly phase: string | null;
  readonly status: string | null;
  readonly nextStep: string | null;
  readonly filesToRead: readonly FileToRead[];
  readonly blockers: readonly string[];
  readonly decisions: readonly string[];
  readonly checkpoint: {
    readonly id: string | null;
    readonly fillPercentage: number | null;
    readonly tier: string | null;
    readonly at: Millis | null;
  };
  /** How long ago it was updated, if it says so. */
  readonly age: Millis | null;
  readonly plan: {
    readonly pipelines: readonly PlanStep[];
    readonly barriers: readonly PlanStep[];
    readonly queue: readonly PlanStep[];
  };
};

type Fields = { readonly [name: string]: unknown };

/** More than anyone reads. */
const mostEntries = 100;
const maxLineBytes = 500;

/** Parses an ORCHESTRATION.yaml, and leaves out what has an unexpected form. */
export function readResumption(text: string, now: Millis): Resumption | { readonly problem: string } {
  const yaml = readYaml(text);
  if ('problem' in yaml) return { problem: `line ${yaml.problem.line}: ${yaml.problem.message}` };
  const top = yaml.value === null ? {} : yaml.value;
  if (!isRecord(top)) return { problem: 'it is not a mapping of keys to values' };
  const workflow = fieldsOf(top.workflow);
  const resumption = fieldsOf(top.resumption);
  const recovery = fieldsOf(resumption.recovery_state);
  const pipelines = entriesOf(top.pipelines);
  const at = timeOf(resumption.checkpoint_timestamp);
  return {
    workflow: firstLine(workflow.name, workflow.id),
    phase: firstLine(
      resumption.current_phase_name,
      resumption.current_phase,
      resumption.phase,
      recovery.current_phase_name,
      recovery.current_phase,
      ...pipelines.map(findPhase),
    ),
    status: firstLine(
      resumption.workflow_status,
      recovery.workflow_status,
      resumption.status,
      workflow.status,
      resumption.current_state,
    ),
    nextStep: firstLine(
      resumption.next_step,
      recovery.next_step,
      ...entriesOf(fieldsOf(top.next_actions).immediate).map(describeEntry),
    ),
    filesToRead: readFiles(resumption.files_to_read ?? recovery.files_to_read),
    blockers: readLines(fieldsOf(top.blockers).active ?? top.blockers ?? resumption.blockers),
    decisions: readLines(resumption.decisions ?? top.decisions),
    checkpoint: {
      id: firstLine(resumption.latest_checkpoint_id),
      fillPercentage: numberOf(resumption.fill_percentage),
      tier: firstLine(resumption.tier),
      at,
    },
    // The writer's clock may have been ahead.
    age: at === null ? null : Math.max(0, now - at),
    plan: {
      pipelines: pipelines.map((pipeline) => readStep(pipeline, 'phases', 'agents')),
      barriers: entriesOf(top.barriers).map((barrier) => readStep(barrier)),
      queue: entriesOf(fieldsOf(top.execution_queue).groups ?? top.execution_queue).map((group) =>
        readStep(group, 'agents' in fieldsOf(group) ? 'agents' : 'tasks'),
      ),
    },
  };
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The entries of a list, or of a mapping by name. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.slice(0, mostEntries);
  if (!isRecord(value)) return [];
  const entries = Object.entries(value).slice(0, mostEntries);
  return entries.flatMap(([id, entry]) => (isRecord(entry) ? [{ id, ...entry }] : []));
}

function firstLine(...values: readonly unknown[]): string | null {
  for (const value of values) {
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const line = cleanLine(String(value), maxLineBytes);
    if (line !== '') return line;
  }
  return null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A time as text, or as a date of YAML 1.1. */
function timeOf(value: unknown): Millis | null {
  const time =
    value instanceof Date ? value.getTime() : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** A pipeline's current phase, by name if it has one. */
function findPhase(pipeline: unknown): unknown {
  const { current_phase: current, phases } = fieldsOf(pipeline);
  const phase = entriesOf(phases).find((one) => current !== undefined && fieldsOf(one).id === current);
  return firstLine(fieldsOf(phase).name, current);
}

function describeEntry(entry: unknown): string | null {
  const { id, name, description, decision, action, title, summary, ...rest } = fieldsOf(entry);
  const words = firstLine(entry, description, decision, action, title, summary, name, rest.text);
  const label = firstLine(id);
  return label !== null && words !== null ? `${label}: ${words}` : (words ?? label);
}

function readLines(value: unknown): string[] {
  return entriesOf(value).flatMap((entry) => describeEntry(entry) ?? []);
}

function readFiles(value: unknown): FileToRead[] {
  const files = entriesOf(value).flatMap((entry) => {
    const { path, priority, purpose } = fieldsOf(entry);
    const found = firstLine(entry, path);
    return found === null ? [] : [{ path: found, priority: numberOf(priority), purpose: firstLine(purpose) }];
  });
  return files.sort((a, b) => (a.priority ?? Number.MAX_VALUE) - (b.priority ?? Number.MAX_VALUE));
}

/** Reads a step, and the lists of these names below it. */
function readStep(entry: unknown, list?: string, ...below: string[]): PlanStep {
  const { id, name, status, blocked_by, depends_on, ...rest } = fieldsOf(entry);
  const waits = [
    blocked_by,
    ...(Array.isArray(depends_on) ? depends_on.slice(0, mostEntries) : [depends_on]),
  ];
  return {
    name: firstLine(name, id, entry, rest.task, rest.agent, rest.title, rest.description) ?? '?',
    status: firstLine(status),
    waitsFor: waits.flatMap((one) => firstLine(one) ?? []),
    parts: list ? entriesOf(rest[list]).map((part) => readStep(part, ...below)) : [],
  };
}
