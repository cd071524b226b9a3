import * as z from 'zod/mini';
import { hash } from '../../digest.ts';
import { cleanLine, cleanText } from '../../text.ts';
import { count } from '../../units.ts';

/*
 * What reviewers find. A review is an answer in the form that was asked for, with the code that only this request has:
 * anything else, such as "LGTM" or what a diff has told the reviewer to say, is none.
 */

export const severities = ['critical', 'high', 'medium', 'low'] as const;
export type Severity = (typeof severities)[number];

export type Finding = {
  readonly severity: Severity;
  /** From the top of the repository; null if it is about no file. */
  readonly file: string | null;
  readonly line: number | null;
  readonly title: string;
  readonly detail: string;
};

/** What came of one reviewer. */
export type Review =
  | {
      readonly kind: 'review';
      readonly by: string;
      readonly summary: string;
      readonly findings: readonly Finding[];
    }
  /** It gave no answer that counts. */
  | { readonly kind: 'none'; readonly by: string; readonly why: string };

const shape = z.object({
  review: z.string(),
  summary: z.string().check(z.minLength(10)),
  files: z.array(z.string()),
  findings: z.array(
    z.object({
      severity: z.enum(severities),
      file: z.optional(z.nullable(z.string())),
      line: z.optional(z.nullable(z.int().check(z.minimum(1)))),
      title: z.string().check(z.minLength(3)),
      detail: z.optional(z.nullable(z.string())),
    }),
  ),
});

const longestTitle = 200;
const longestDetail = 2_000;
const mostFindings = 100;

/** Reads a reviewer's answer out of what it printed. `changed`: the files of the diff; it must have looked at one. */
export function parseReview(
  printed: string,
  { by, code, changed }: { readonly by: string; readonly code: string; readonly changed: readonly string[] },
): Review {
  const none = (why: string): Review => ({ kind: 'none', by, why });
  const last = findAnswer(printed, code);
  if (last === undefined) return none('it gave no answer in the form that was asked for');
  const parsed = z.safeParse(shape, JSON.parse(last));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return none(
      `its answer is wrong at ${issue?.path.join('.') || 'the top'}: ${issue?.message ?? 'unknown'}`,
    );
  }
  const { review, summary, files, findings } = parsed.data;
  if (review !== code) return none('its answer does not have the code that was asked for');
  if (changed.length > 0 && !files.some((file) => changed.includes(file.replace(/^(?:\.|[ab])\//, ''))))
    return none('it names no file of the change that it has looked at');
  return {
    ...{ kind: 'review', by, summary: cleanLine(summary, longestDetail) },
    findings: findings.slice(0, mostFindings).map(({ severity, file, line, title, detail }) => ({
      ...{
        severity,
        file: file == null ? null : cleanLine(file, longestTitle),
        line: line ?? null,
        title: cleanLine(title, longestTitle),
      },
      detail: cleanText(detail ?? '', longestDetail),
    })),
  };
}

/** A code that an answer repeats is in few places, and an answer has few lines that begin or end an object. */
const mostPlaces = 5;
const mostLines = 300;

/** Finds the last JSON object with the code, on lines of its own, the widest there is. Bounded, whatever is printed. */
function findAnswer(text: string, code: string): string | undefined {
  const places = [...text.matchAll(new RegExp(code, 'g'))].map(({ index }) => index);
  const starts = [...text.matchAll(/^[ \t]*\{/gm)].map(({ index }) => index);
  const ends = [...text.matchAll(/\}[ \t]*$/gm)].map(({ index }) => index + 1);
  for (const place of places.slice(-mostPlaces).reverse()) {
    const after = ends.filter((end) => end > place).slice(0, mostLines);
    for (const start of starts.filter((each) => each < place).slice(-mostLines)) {
      const end = after.findLast((each) => isObject(text.slice(start, each)));
      if (end !== undefined) return text.slice(start, end);
    }
  }
  return undefined;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

export type ReviewDecision =
  /** What is not grave is deferred. */
  | { readonly kind: 'accepted'; readonly grave: readonly Finding[]; readonly deferred: readonly Finding[] }
  | {
      readonly kind: 'sent_back';
      readonly feedback: string;
      readonly grave: readonly Finding[];
      readonly deferred: readonly Finding[];
    }
  /** Too few have answered: no review, and no failed attempt either. */
  | { readonly kind: 'missing'; readonly reason: string };

/** Decides what follows from the reviews of a change: critical and high findings go back, the others are deferred. */
export function decideReview(reviews: readonly Review[], required: number): ReviewDecision {
  const given = reviews.filter((review) => review.kind === 'review');
  const findings = mergeFindings(given.flatMap((review) => review.findings));
  const deferred = findings.filter(({ severity }) => !isGrave(severity));
  const grave = findings.filter(({ severity }) => isGrave(severity));
  if (grave.length > 0) return { kind: 'sent_back', feedback: describeFindings(grave), grave, deferred };
  if (given.length >= required) return { kind: 'accepted', grave, deferred };
  const why = reviews.flatMap((review) => (review.kind === 'none' ? [`${review.by}: ${review.why}`] : []));
  return {
    kind: 'missing',
    reason: `it needs ${count(required, 'review')} and has ${given.length}; ${why.join('; ')}`,
  };
}

function isGrave(severity: Severity): boolean {
  return severity === 'critical' || severity === 'high';
}

/** What several reviewers find counts once, as grave as the gravest of them says. */
function mergeFindings(findings: readonly Finding[]): Finding[] {
  const byKey = new Map<string, Finding>();
  for (const finding of findings) {
    const key = keyOf(finding);
    const known = byKey.get(key);
    if (known === undefined || rankOf(finding) < rankOf(known)) byKey.set(key, finding);
  }
  return [...byKey.values()].sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ severity }: Finding): number {
  return severities.indexOf(severity);
}

/** The same finding in another attempt has the same key, though its line may have moved. */
export function keyOf({ file, title }: Pick<Finding, 'file' | 'title'>): string {
  return hash('sha256', `${file ?? ''}\0${title.toLowerCase()}`).slice(0, 10);
}

export function placeOf({ file, line }: Pick<Finding, 'file' | 'line'>): string | null {
  return file === null ? null : `${file}${line === null ? '' : `:${line}`}`;
}

/** What the worker is told. */
export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.map((finding) => {
    const place = placeOf(finding);
    const detail = finding.detail === '' ? '' : `\n  ${finding.detail.replaceAll('\n', '\n  ')}`;
    return `- ${finding.severity}${place === null ? '' : `, ${place}`}: ${finding.title}${detail}`;
  });
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : '';
  const first = `${findings[0]?.title ?? ''}${more}`;
  return `The review found ${count(findings.length, 'thing')} to fix before it can be merged (${first}):\n${lines.join('\n')}`;
}
