import { describe, expect, it } from 'vitest';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import type { Task } from '../../src/plan/plan.ts';
import { formatRunReport, type ReportInput } from '../../src/plan/run/run-report.ts';
import type { EffectRecord, TaskRecord } from '../../src/state/runs.ts';

const at = Date.parse('2026-11-16T12:00:00Z');
const task = (id: string) => ({ id }) as Task; // the order is all that is looked at
const record = (more: Partial<TaskRecord> = {}): TaskRecord => {
  return { status: 'succeeded', attempts: 1, digest: 'd', artifacts: [], at, ...more };
};
const effect = (more: Partial<EffectRecord> = {}): EffectRecord => {
  const base = { task: 'publish', key: 'orch-1', status: 'acknowledged', reason: null, digest: 'd' } as const;
  return { ...base, what: 'sh release.sh', at, ...more };
};

function report(more: Partial<ReportInput['run']> = {}): string {
  const head = {
    plan: 'release',
    digest: 'digest-1',
    status: 'resume_needed' as const,
    session: parseSessionId('sess-abcd'),
    from: 'run-old1',
    startedAt: at,
    endedAt: at + 60_000,
    at,
  };
  return formatRunReport({
    epic: parseEpicId('feat-login'),
    run: { id: 'run-new1', head, tasks: {}, effects: {}, ...more },
    plan: { tasks: ['build', 'publish'].map(task), digest: 'digest-1' },
  });
}

describe('the report of a run', () => {
  it('has the status, the earlier run, each task and the open effects', () => {
    const artifacts = [{ path: 'dist/app.js', sha256: 'a'.repeat(64), bytes: 1200 }];
    const text = report({
      tasks: { build: record({ attempts: 2, artifacts }) },
      effects: {
        tag: effect(),
        notify: effect({
          key: 'orch-2',
          status: 'planned',
          reason: 'answered 503 (3 attempts)',
          what: 'POST http://x',
        }),
      },
    });
    expect(text).toBe(`# release: resume needed

Run \`run-new1\` on \`feat-login\`; started 2026-11-16T12:00:00Z; ended 2026-11-16T12:01:00Z; continues \`run-old1\`.

Plan digest \`digest-1\`.

## Tasks: 1 of 2 succeeded

|  | task | status | attempts | recorded | artifacts |
|---|---|---|---|---|---|
| 1 | build | succeeded | 2 | 2026-11-16T12:00:00Z | \`dist/app.js\` (1200 bytes, aaaaaaaaaaaa) |
| 2 | publish | not started | 0 |  |  |

## Effects: 1 of 2 acknowledged

| effect | task | status | key | recorded | what | why |
|---|---|---|---|---|---|---|
| tag | publish | acknowledged | \`orch-1\` | 2026-11-16T12:00:00Z | sh release.sh |  |
| notify | publish | planned | \`orch-2\` | 2026-11-16T12:00:00Z | POST http://x | answered 503 (3 attempts) |
`);
  });

  it('has no section for effects if there are none', () => {
    expect(report()).not.toContain('Effects');
  });

  it('names tasks that left the plan, and a plan that was changed since', () => {
    const text = report({ tasks: { old: record() } });
    expect(text).toContain('| – | old | succeeded |');
    const changed = formatRunReport({
      epic: parseEpicId('e'),
      run: { id: 'run-1', tasks: {}, effects: {}, head: { ...headOf('digest-1') } },
      plan: { tasks: [], digest: 'digest-2' },
    });
    expect(changed).toContain('Plan digest `digest-1`; the plan has changed since.');
  });

  it('I9: shows text from outside as it is, in its own cell', () => {
    const text = report({ effects: { tag: effect({ reason: 'a | b\n\n# Forged\n| x |', what: '<b>`x`' }) } });
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toHaveLength(3);
    expect(text).toContain("| \\<b>'x' | a \\| b # Forged \\| x \\| |");
  });
});

function headOf(digest: string): ReportInput['run']['head'] {
  const session = parseSessionId('sess-abcd');
  return { plan: 'p', digest, status: 'succeeded', session, from: null, startedAt: at, endedAt: null, at };
}
