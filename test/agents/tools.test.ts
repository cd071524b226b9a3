import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeEnvironment, claudeProgram, runClaude } from './support/claude.ts';
import { codexEnvironment, codexProgram, runCodex, writeCodexConfig } from './support/codex.ts';
import { trustOf } from './support/hooks.ts';
import { startOpenAiModel } from './support/openai.ts';
import { runOrchCodex } from './support/orch.ts';
import type { ToolUse } from './support/script.ts';
import { hasTmux, openClaude } from './support/terminal.ts';
import { until } from './support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const decision = { kind: 'decision', text: 'Server sessions, not JWT', why: 'Legal wants revocation' };
const attempt = { kind: 'tried', text: 'File store with fs.watch', why: 'It loses writes' };

/** A repository on a branch of its own, on a machine where orch and an agent are on the path. */
function makeMachine(agent: string | null) {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/login');
  const bin = join(repository.home, 'bin');
  mkdirSync(bin);
  symlinkSync(orchBin, join(bin, 'orch'));
  return { ...repository, env: { PATH: [bin, dirname(agent ?? ''), process.env.PATH].join(delimiter) } };
}

/** What the user's yes to a folder leaves with Claude Code. */
function trustFolder({ home, folder }: TestRepository): void {
  const projects = { [folder]: { hasTrustDialogAccepted: true } };
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ hasCompletedOnboarding: true, projects }));
}

const trustedByCodex = ({ folder }: TestRepository) =>
  `[projects.${JSON.stringify(folder)}]\ntrust_level = "trusted"\n`;

type Shown = {
  checkpoint: { sessionId: string };
  document: { state: { [list: string]: { [id: string]: { value: { text: string; session: string } } } } };
};

/** Both are in the epic, in one session, which is the agent's. */
function expectRecorded(repository: TestRepository, agent: string): void {
  const { document } = orchJson<Shown>(repository, ['checkpoint', 'show', '-e', 'feat-login']);
  const [decided, ...others] = Object.values(document.state.decisions ?? {});
  const [tried] = Object.values(document.state.tried ?? {});
  expect(others).toEqual([]);
  expect(decided?.value).toMatchObject({ text: decision.text, rationale: decision.why });
  expect(tried?.value).toMatchObject({ text: attempt.text, why: attempt.why });
  const { session } = orchJson<{ session: object }>(repository, ['session', 'status', '-e', 'feat-login']);
  expect(session).toMatchObject({ number: 1, agent, id: decided?.value.session });
  expect(tried?.value.session).toBe(decided?.value.session);
}

const callsOf = (make: (tool: string, input: Record<string, unknown>) => ToolUse) => [
  { tools: [make('record', decision), make('record', attempt)] },
  { tools: [make('brief', {})] },
  { text: 'Done.' },
];
const ofClaude = (tool: string, input: Record<string, unknown>) => ({
  tool: `mcp__plugin_orch_orch__${tool}`,
  input,
});
const ofCodex = (tool: string, input: Record<string, unknown>) => ({ tool, input, namespace: 'mcp__orch' });

describe.skipIf(!claudeProgram)("Claude Code calls orch's tools", () => {
  it('after orch init, without being asked for anything but its trust in the folder', async () => {
    const machine = makeMachine(claudeProgram);
    expect(runOrch(machine, ['init', '-y', '--no-codex'], { env: machine.env }).status).toBe(0);
    trustFolder(machine);
    const model = await startAnthropicModel(callsOf(ofClaude));
    const { result, lines } = await runClaude(machine, 'make login redirect', { url: model.url });
    expect(result).toMatchObject({ is_error: false });
    expectRecorded(machine, 'claude');
    expect(lines.find(({ subtype }) => subtype === 'init').skills).toContain('orch');
    const first = JSON.stringify(model.asked[0]?.body);
    expect(first).toContain('Record decisions and failed approaches, with why');
    expect(JSON.stringify(model.asked[2]?.body.messages.at(-1))).toContain('> # Brief: feat-login');
  });

  it('with the plugin from a marketplace, which hooks in and teaches too', async () => {
    const machine = makeMachine(claudeProgram);
    const model = await startAnthropicModel(callsOf(ofClaude));
    const options = { url: model.url, env: machine.env, args: ['--allowedTools', 'mcp__plugin_orch_orch'] };
    const install = (...args: string[]) =>
      spawnSync(claudeProgram ?? '', ['plugin', ...args], {
        cwd: machine.folder,
        env: claudeEnvironment(machine, options),
        encoding: 'utf8',
      });
    expect(install('validate', join(root, 'templates/plugin'))).toMatchObject({ status: 0 });
    expect(install('marketplace', 'add', root)).toMatchObject({ status: 0 });
    expect(install('install', 'orch@create-something')).toMatchObject({ status: 0 });
    const { result, lines } = await runClaude(machine, 'make login redirect', options);
    expect(result).toMatchObject({ is_error: false });
    expectRecorded(machine, 'claude');
    expect(lines.find(({ subtype }) => subtype === 'init').skills).toContain('orch:orch');
    // Beside it, orch init adds the status line only.
    const { stdout } = runOrch(machine, ['init', '-y', '--no-codex'], { env: machine.env });
    expect(stdout).toMatch(/settings\.local\.json +\+status line\n/);
  });
});

describe.skipIf(!claudeProgram || !hasTmux)('Claude Code in a terminal', () => {
  it("calls orch's tools without a question to the user", async () => {
    const machine = makeMachine(claudeProgram);
    runOrch(machine, ['init', '-y', '--no-codex'], { env: machine.env });
    const model = await startAnthropicModel(callsOf(ofClaude));
    const terminal = await openClaude(machine, { url: model.url });
    await terminal.type('make login redirect');
    await terminal.shows('Done.');
    await terminal.type('/exit');
    await until(() => !terminal.runs(), terminal.screen);
    expectRecorded(machine, 'claude');
  });
});

describe.skipIf(!codexProgram)("Codex calls orch's tools", () => {
  it('after orch init, in a folder it trusts', async () => {
    const machine = makeMachine(codexProgram);
    expect(runOrch(machine, ['init', '-y', '--no-claude'], { env: machine.env }).status).toBe(0);
    const file = join(machine.folder, '.codex', 'hooks.json');
    const { hooks } = JSON.parse(readFileSync(file, 'utf8'));
    const trust = Object.keys(hooks).map((event) => trustOf(file, event, hooks[event][0].hooks[0]));
    const config = [trustedByCodex(machine), ...trust].join('\n');
    const model = await startOpenAiModel(callsOf(ofCodex));
    await runCodex(machine, 'make login redirect', { url: model.url, config });
    expectRecorded(machine, 'codex');
    const first = JSON.stringify(model.asked[0]?.body);
    expect(first).toContain('- orch: Record what the next agent needs.');
    expect(first).toContain('Record decisions and failed approaches, with why');
    expect(JSON.stringify(model.asked[2]?.body.input)).toContain('> # Brief: feat-login');
  });

  it('in the session of its supervisor', async () => {
    const machine = makeMachine(codexProgram);
    runOrch(machine, ['init', '-y', '--no-claude'], { env: machine.env });
    const model = await startOpenAiModel(callsOf(ofCodex));
    const start = ['start', '--no-baseline', '-e', 'feat-login'];
    const options = { url: model.url, config: trustedByCodex(machine) };
    expect(await runOrchCodex(machine, start, 'make login redirect', options)).toMatchObject({ status: 0 });
    expectRecorded(machine, 'codex');
  });

  it('with the plugin from a marketplace, whose hooks the user has to trust', async () => {
    const machine = makeMachine(codexProgram);
    const model = await startOpenAiModel(callsOf(ofCodex));
    const options = { url: model.url, env: machine.env, config: trustedByCodex(machine) };
    writeCodexConfig(machine, options);
    const config = join(machine.home, '.codex', 'config.toml');
    const install = (...args: string[]) =>
      spawnSync(codexProgram ?? '', ['plugin', ...args, '-c', 'features.plugins=true'], {
        cwd: machine.folder,
        env: codexEnvironment(machine, options),
        encoding: 'utf8',
      });
    expect(install('marketplace', 'add', root)).toMatchObject({ status: 0 });
    expect(install('add', 'orch@create-something')).toMatchObject({ status: 0 });
    const written = readFileSync(config, 'utf8');
    const added = written.slice(written.indexOf('[marketplaces'));
    await runCodex(machine, 'make login redirect', {
      ...options,
      config: `${options.config}\n${added}`,
      args: ['-c', 'features.plugins=true', '--dangerously-bypass-hook-trust'],
    });
    expectRecorded(machine, 'codex');
  });
});
