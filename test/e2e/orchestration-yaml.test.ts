import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

const text = `# where we stand
workflow: { name: Login, status: ACTIVE }   # by hand
resumption:
  current_phase: 2
  current_phase_name: "Build"
  next_step: 'Write the redirect'
  checkpoint_timestamp: "2026-11-10T12:00:00Z"
  files_to_read:
    - { path: src/login.ts, priority: 1, purpose: the handler }
blockers:
  active:
    - { id: B1, description: No staging server }
decisions:
  - Server sessions, not JWT
pipelines:
  - id: main
    status: IN_PROGRESS
    phases:
      - { id: 1, name: Plan, status: COMPLETE }
      - { id: 2, name: Build, status: IN_PROGRESS }
barriers:
  - { id: review, status: PENDING, depends_on: [main] }
execution_queue:
  groups:
    - { name: first, tasks: [{ id: T1, status: READY }] }
`;

function makeProject(content = text): TestRepository & { read(): string } {
  const repository = makeRepositoryWithCommit();
  repository.write('ORCHESTRATION.yaml', content);
  const read = () => readFileSync(join(repository.folder, 'ORCHESTRATION.yaml'), 'utf8');
  return { ...repository, read };
}

type Created = { checkpoint: { id: string; seq: number; timestamp: string; gates: string } };
const create = (repository: TestRepository) =>
  orchJson<Created>(repository, ['checkpoint', 'create', '-e', 'x']).checkpoint;

it('names the latest checkpoint, and stays as it is otherwise', () => {
  const project = makeProject();
  const { id, timestamp } = create(project);
  const { resumption, ...rest } = parse(project.read());
  expect(resumption).toEqual({
    ...parse(text).resumption,
    latest_checkpoint_id: id,
    fill_percentage: null,
    tier: null,
    checkpoint_timestamp: new Date(timestamp).toISOString(),
  });
  const { resumption: _, ...before } = parse(text);
  expect(rest).toEqual(before);
  expect(project.read()).toContain('# by hand');
  const second = create(project);
  expect(parse(project.read()).resumption.latest_checkpoint_id).toBe(second.id);
});

it('is told what fills the window', () => {
  const project = makeProject();
  const transcript = join(project.home, 'transcript.jsonl');
  const usage = { input_tokens: 170_000, output_tokens: 1 };
  const message = { id: 'm', model: 'claude-sonnet-4-5', usage };
  writeFileSync(transcript, '');
  const call = (event: string, fields: object) => {
    const about = { session_id: 'agent-1', transcript_path: transcript, cwd: project.folder };
    const input = JSON.stringify({ ...about, hook_event_name: event, ...fields });
    const env = { CLAUDE_PID: String(process.pid), ORCH_EPIC: 'x' };
    return runOrch(project, ['hook', 'claude'], { input, env }).stdout;
  };
  // The first session of an epic has no brief of another, but this.
  const { additionalContext: brief } = JSON.parse(
    call('SessionStart', { source: 'startup' }),
  ).hookSpecificOutput;
  expect(brief).toContain('Write the redirect');
  writeFileSync(transcript, `${JSON.stringify({ type: 'assistant', requestId: 'r', message })}\n`);
  call('UserPromptSubmit', { prompt: 'Begin' });
  expect(parse(project.read()).resumption).toMatchObject({ fill_percentage: 85, tier: 'CRITICAL' });
  const { document } = orchJson<{ document: { state: { blockers: object } } }>(project, [
    'checkpoint',
    'show',
    '-e',
    'x',
  ]);
  expect(JSON.stringify(document.state.blockers)).toContain('No staging server');
});

it('is read when a session begins, once until it changes, and is in the brief with its age', () => {
  const project = makeProject();
  const start = () => {
    runOrch(project, ['start', '-e', 'x', '--no-baseline', '--', 'true']);
    const { document } = orchJson<{
      document: { state: Record<string, Record<string, { value: unknown }>> };
    }>(project, ['checkpoint', 'show', '-e', 'x']);
    return document.state;
  };
  const state = start();
  expect(Object.values(state.blockers ?? {}).map(({ value }) => value)).toMatchObject([
    { text: 'B1: No staging server', resolvedAt: null },
  ]);
  expect(Object.values(state.decisions ?? {}).map(({ value }) => value)).toMatchObject([
    { text: 'Server sessions, not JWT' },
  ]);
  expect(state.files?.['src/login.ts']?.value).toMatchObject({
    change: 'read',
    priority: 1,
    why: 'the handler',
  });
  const brief = runOrch(project, ['brief', '-e', 'x']).stdout;
  expect(brief).toContain(
    'Login; phase Build; ACTIVE; next: Write the redirect (ORCHESTRATION.yaml of 2026-11-10 12:00, stale)',
  );
  expect(brief).toContain('B1: No staging server');
  // Only our own write-back since: nothing is read again.
  expect(start().current?.resumptionState).toEqual(state.current?.resumptionState);
  project.write('ORCHESTRATION.yaml', project.read().replace('No staging server', 'No certificate'));
  const blockers = Object.values(start().blockers ?? {}).map(
    ({ value }) => value as { text: string; resolvedAt: unknown },
  );
  expect(blockers.filter(({ resolvedAt }) => resolvedAt === null).map(({ text: said }) => said)).toEqual([
    'B1: No certificate',
  ]);
  expect(blockers).toHaveLength(2);
});

it('shows its pipelines, barriers and queue with a session', () => {
  const project = makeProject();
  create(project);
  const shown = runOrch(project, ['session', 'show', '-e', 'x']).stdout;
  for (const line of ['main IN_PROGRESS', 'Build IN_PROGRESS', 'review PENDING, waits for main', 'T1 READY'])
    expect(shown).toContain(line);
  const { plan } = orchJson<{ plan: { barriers: unknown[] } }>(project, ['session', 'show', '-e', 'x']);
  expect(plan.barriers).toEqual([{ name: 'review', status: 'PENDING', waitsFor: ['main'], parts: [] }]);
});

it('keeps what the gates said of the code, though orch writes into the file', () => {
  const project = makeProject();
  project.write('Makefile', 'test:\n\t@true\n');
  expect(runOrch(project, ['baseline', '-e', 'x'], { env: { ORCH_TRUST: '1' } }).status).toBe(0);
  expect(create(project).gates).toBe('green');
  expect(create(project).gates).toBe('green');
  // The gates run on the files as orch left them, too.
  expect(runOrch(project, ['baseline', '-e', 'x'], { env: { ORCH_TRUST: '1' } }).status).toBe(0);
  expect(create(project).gates).toBe('green');
  project.write('ORCHESTRATION.yaml', project.read().replace('Build', 'Test'));
  expect(create(project).gates).toBe('unknown');
});

it.each<[string, string, string]>([
  ['broken', 'a: [1\n', 'a: [1\n'],
  ['of several documents', 'a: 1\n---\nb: 2\n', 'a: 1\n---\nb: 2\n'],
])('stops nothing where it is %s, and says so', (_, content, expected) => {
  const project = makeProject(content);
  const { status, stderr } = runOrch(project, ['checkpoint', 'create', '-e', 'x']);
  expect(status).toBe(0);
  expect(stderr).toContain('ORCHESTRATION.yaml does not name the latest checkpoint');
  expect(project.read()).toBe(expected);
});

it.each<[use: string, next: string | undefined, hasPlan: boolean]>([
  ['read', 'Write the redirect', true],
  ['off', undefined, false],
])('is not written to if the config says %s', (use, next, hasPlan) => {
  const project = makeProject();
  mkdirSync(join(project.folder, '.orchestration'));
  project.write('.orchestration/config.yaml', `orchestrationFile: ${use}\n`);
  runOrch(project, ['start', '-e', 'x', '--no-baseline', '--', 'true']);
  const { stderr } = runOrch(project, ['checkpoint', 'create', '-e', 'x']);
  expect(stderr).not.toContain('ORCHESTRATION.yaml');
  expect(project.read()).toBe(text);
  const { document } = orchJson<{
    document: { state: { current: { resumptionState?: { value: { nextStep: string } } } } };
  }>(project, ['checkpoint', 'show', '-e', 'x']);
  expect(document.state.current.resumptionState?.value.nextStep).toBe(next);
  const { plan } = orchJson<{ plan: unknown }>(project, ['session', 'show', '-e', 'x']);
  expect(Boolean(plan)).toBe(hasPlan);
});

it('is left alone where it is write-protected', () => {
  const project = makeProject();
  chmodSync(join(project.folder, 'ORCHESTRATION.yaml'), 0o444);
  const { status, stderr } = runOrch(project, ['checkpoint', 'create', '-e', 'x']);
  expect([status, project.read()]).toEqual([0, text]);
  expect(stderr).toContain('write-protected');
});

it.each([
  ['with what orch writes into it', '', /\. 1 file on disk differs/],
  ['with what somebody else wrote into it', '\nmore: here\n', /\. 2 files on disk differ/],
])('after a crash is told apart %s', async (_, added, expected) => {
  const project = makeProject();
  project.write('README', 'saved\n');
  const orch = startSupervisor(project, ['start', '-e', 'x', '--json']);
  await waitUntil(() => orch.stdout().includes('\n'));
  orch.signal('SIGKILL');
  await orch.ended;
  project.write('README', 'torn\n');
  project.write('ORCHESTRATION.yaml', `${project.read()}${added}`);
  const { call } = makeAgent(project, 'agent-1', { ORCH_EPIC: 'x' });
  const { systemMessage } = call('SessionStart', { source: 'startup' });
  expect(systemMessage).toMatch(expected);
});
