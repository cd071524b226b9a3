import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { wrapToolHook } from '../../src/agents/claude/tool-hook-line.ts';
import { listFiles, makeMachine } from '../support/machine.ts';
import { errorOf, orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeFolder, makeRepository } from '../support/repository.ts';

const local = '.claude/settings.local.json';
const shared = '.claude/settings.json';

/** The commands of all hooks in settings. */
function hooksIn(text: string): Record<string, string[]> {
  const { hooks = {} } = JSON.parse(text);
  return Object.fromEntries(
    Object.entries<{ hooks: { command: string }[] }[]>(hooks).map(([event, groups]) => [
      event,
      groups.flatMap((group) => group.hooks.map(({ command }) => command)),
    ]),
  );
}

describe('orch init', () => {
  it('says what it would do and changes nothing where nobody can be asked', () => {
    const machine = makeMachine();
    const before = listFiles(machine);
    const ran = machine.init();
    expect(ran.status).toBe(2);
    expect(ran.stdout).toContain('+++ .claude/settings.local.json\n@@ -0,0 +1,');
    expect(ran.stdout).toContain('found    Claude Code 2.1.325, npm (test, lint)\n');
    expect(ran.stderr).toContain('orch init -y');
    expect(listFiles(machine)).toEqual(before);
    expect(existsSync(join(machine.folder, '.git/orchestration/trust.json'))).toBe(false);
  });

  it('hooks in, changes nothing that git sees, and does it once', () => {
    const machine = makeMachine();
    machine.git('remote', 'add', 'origin', 'https://example.com/x.git');
    const ran = machine.init('-y');
    expect(ran).toMatchObject({
      status: 0,
      stdout: `found    Claude Code 2.1.325, npm (test, lint), origin
create   .claude/settings.local.json                         +13 hooks, +status line, +tools allowed
create   .claude/skills/orch/SKILL.md                        skill
create   .claude/skills/orch/skills/convoy/SKILL.md          skill
create   .claude/skills/orch/skills/task-dispatch/SKILL.md   skill
create   .claude/skills/orch/skills/task-continue/SKILL.md   skill
create   .claude/skills/orch/.claude-plugin/plugin.json      MCP server
change   .git/info/exclude                                   keeps them out of git
approve  test: npm run test
approve  lint: npm run lint
keep     tracked files, .git/config and your branches
`,
      stderr: 'Done. Work as usual: claude.  Check in: orch status.  Remove: orch init --undo.\n',
    });
    expect(machine.git('status', '--porcelain')).toBe('');
    const hooks = hooksIn(machine.read(local));
    expect(Object.keys(hooks)).toContain('StopFailure');
    const line = `${process.execPath} ${orchBin} hook claude`;
    for (const [event, commands] of Object.entries(hooks))
      expect(commands).toEqual([event.includes('ToolUse') ? wrapToolHook(line) : line]);
    const after = listFiles(machine);
    const again = machine.init();
    expect(again).toMatchObject({ status: 0, stderr: 'Nothing to do.\n' });
    expect(listFiles(machine)).toEqual(after);
  });

  it('writes hooks that work: what they are told is recorded', () => {
    const machine = makeMachine();
    machine.init('-y');
    const [command = ''] = hooksIn(machine.read(local)).SessionStart ?? [];
    const input = {
      session_id: 'a',
      cwd: machine.folder,
      hook_event_name: 'SessionStart',
      source: 'startup',
    };
    machine.git('switch', '--quiet', '--create', 'feat/x');
    const { stdout } = spawnSync('sh', ['-c', command], {
      cwd: machine.folder,
      env: cleanEnvironment(machine.home),
      input: JSON.stringify(input),
      encoding: 'utf8',
    });
    expect(stdout).toContain('orch: feat-x (from the branch), session 1');
  });

  it('approves exactly the gates it shows', () => {
    const machine = makeMachine();
    const skipped = 'are skipped until you approve them';
    const start = () => runOrch(machine, ['start', '-e', 'x', '--', 'true']).stderr;
    expect(start()).toContain(skipped);
    machine.init('-y');
    expect(start()).toContain('Gates: test, lint.');
    machine.write('Makefile', 'lint:\n\ttrue\n');
    expect(start()).toContain(skipped);
  });

  it('approves nothing for an agent', () => {
    const machine = makeMachine();
    const ran = runOrch(machine, ['init', '-y'], { env: { ...machine.env, CLAUDECODE: '1' } });
    expect(ran).toMatchObject({ status: 0, stdout: expect.not.stringContaining('approve') });
    expect(existsSync(join(machine.folder, '.git/orchestration/trust.json'))).toBe(false);
  });

  it('is undone to the byte, whatever was there before', () => {
    const machine = makeMachine({ claude: '2.1.325', codex: 'codex-cli 0.166.0' });
    const own = `{\r\n\t"hooks": {"Stop": [{"hooks": [{"type":"command","command":"mine"}]}]},\r\n\t"statusLine": {"command": "echo mine", "type": "command"}}`;
    machine.write(local, own);
    chmodSync(join(machine.folder, local), 0o640);
    machine.write('.codex/hooks.json', '{"hooks": {}, "mine": 1}\n');
    machine.write('.git/info/exclude', '# no line end behind this');
    const before = listFiles(machine);
    const ran = machine.init('-y');
    expect(ran.stdout).toContain('+13 hooks, +status line (yours keeps running)');
    expect(ran.stdout).toMatch(/change {3}\.codex\/hooks\.json +\+8 hooks$/m);
    expect(ran.stderr).toContain('start codex here, type /hooks');
    expect(hooksIn(machine.read(local)).Stop?.[0]).toBe('mine');
    expect(statSync(join(machine.folder, local)).mode & 0o777).toBe(0o640);
    const undone = machine.init('--undo', '-y');
    expect(undone.stdout).toContain('−13 hooks, −status line');
    expect(listFiles(machine)).toEqual(before);
    expect(machine.init('--undo')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('Nothing to do'),
    });
  });

  it('hooks Codex in only here, and leaves the other repositories alone when it is undone', () => {
    const machine = makeMachine({ codex: 'codex-cli 0.169.0' });
    const file = '.codex/hooks.json';
    const other = join(machine.home, 'other');
    machine.git('clone', '--quiet', machine.folder, other);
    const inOther = (...args: string[]) =>
      runOrch(machine, ['-C', other, 'init', ...args], { env: machine.env });
    expect(machine.init('-y').stdout).toContain(`create   ${file}`);
    expect(machine.git('status', '--porcelain')).toBe('');
    expect(existsSync(join(other, file))).toBe(false);
    expect(inOther('-y').status).toBe(0);
    const hooks = readFileSync(join(other, file), 'utf8');
    expect(machine.init('--undo', '-y').status).toBe(0);
    expect(existsSync(join(machine.folder, file))).toBe(false);
    expect(readFileSync(join(other, file), 'utf8')).toBe(hooks);
    expect(existsSync(join(machine.home, file))).toBe(false);
  });

  it('moves the hooks that an earlier orch gave Codex for every repository, and only those', () => {
    const machine = makeMachine({ codex: 'codex-cli 0.169.0' });
    const file = '.codex/hooks.json';
    machine.init('-y');
    const own = machine.read(file);
    machine.init('--undo', '-y');
    const everywhere = join(machine.home, file);
    mkdirSync(join(machine.home, '.codex'), { recursive: true });
    writeFileSync(everywhere, own);
    const ran = machine.init('-y');
    expect(ran.stdout).toMatch(/remove {3}~\/\.codex\/hooks\.json +−8 hooks \(in every repository\)/);
    expect(ran.stderr).toContain('Run orch init in your other repositories.');
    expect({ here: machine.read(file), everywhere: existsSync(everywhere) }).toEqual({
      here: own,
      everywhere: false,
    });
    // A file of the user's, broken or not, that has nothing of orch.
    writeFileSync(everywhere, '{"hooks": {');
    expect(machine.init('--undo', '-y').status).toBe(0);
    expect(machine.init('-y').status).toBe(0);
    expect(readFileSync(everywhere, 'utf8')).toBe('{"hooks": {');
  });

  it('leaves hooks of Codex that are in commits as they are, and says so', () => {
    const machine = makeMachine({ codex: 'codex-cli 0.169.0' });
    machine.write('.codex/hooks.json', '{}\n');
    machine.git('add', '.codex');
    machine.git('commit', '--quiet', '--message', 'hooks of the team');
    expect(machine.init('-y')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('.codex/hooks.json is tracked by git, so orch did not change it'),
    });
    expect(machine.read('.codex/hooks.json')).toBe('{}\n');
  });

  it('leaves nothing behind where nothing was', () => {
    const machine = makeMachine({ claude: '2.1.325', codex: '0.166.0' });
    const before = listFiles(machine);
    machine.init('-y', '--config', '--rules');
    expect(machine.read('.orchestration/config.yaml')).toContain('# budget: null');
    expect(machine.read('.claude/rules/orchestration-patterns.md')).toContain('# Orchestration patterns');
    expect(machine.init('--undo', '-y').status).toBe(0);
    expect(listFiles(machine)).toEqual(before);
    for (const folder of ['.claude', '.orchestration', '.agents', '.codex'])
      expect(existsSync(join(machine.folder, folder))).toBe(false);
  });

  it('keeps a config that is there, and one that was changed since', () => {
    const machine = makeMachine();
    machine.write('.orchestration/config.yaml', 'budget: 7\n');
    machine.init('-y', '--config');
    machine.init('-y', '--undo');
    expect(machine.read('.orchestration/config.yaml')).toBe('budget: 7\n');
  });

  it('keeps the status line of settings that ours would hide, and does not put it into the file when undone', () => {
    const machine = makeMachine();
    mkdirSync(join(machine.home, '.claude'));
    const theirs = { type: 'command', command: 'echo mine', padding: 0 };
    writeFileSync(join(machine.home, '.claude', 'settings.json'), JSON.stringify({ statusLine: theirs }));
    expect(machine.init('-y').stdout).toContain('+status line (yours keeps running)');
    const { command, padding } = JSON.parse(machine.read(local)).statusLine;
    const then = /--then=([\w-]+)$/.exec(command)?.[1] ?? '';
    expect(JSON.parse(Buffer.from(then, 'base64url').toString())).toEqual(theirs);
    expect(padding).toBe(0);
    expect(machine.init().stderr).toBe('Nothing to do.\n');
    machine.init('--undo', '-y');
    expect(existsSync(join(machine.folder, local))).toBe(false);
  });

  it('shares hooks that are silent where orch is missing, and never has them twice', () => {
    const machine = makeMachine();
    machine.init('-y');
    symlinkSync(orchBin, join(machine.bin, 'orch'));
    const ran = machine.init('--shared', '-y');
    expect(ran.stdout).toContain('create   .claude/settings.json         +13 hooks\n');
    expect(ran.stdout).toContain('change   .claude/settings.local.json   −13 hooks\n');
    expect(Object.keys(JSON.parse(machine.read(local)))).toEqual([
      'permissions',
      'enabledMcpjsonServers',
      'statusLine',
    ]);
    const [command = ''] = hooksIn(machine.read(shared)).Stop ?? [];
    const without = spawnSync('/bin/sh', ['-c', command], { env: { PATH: '/nowhere' }, encoding: 'utf8' });
    expect(without).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(machine.init('-y').stderr).toBe('Nothing to do.\n');
    const undone = machine.init('--undo', '-y');
    expect(undone.stderr).toContain('orch init --undo --shared');
    expect(existsSync(join(machine.folder, shared))).toBe(true);
    machine.init('--undo', '--shared', '-y');
    expect(existsSync(join(machine.folder, '.claude'))).toBe(false);
  });

  it('keeps comments and trailing commas, and restores them to the byte', () => {
    const machine = makeMachine();
    const mine = `// Only for me
{
  "permissions": {"allow": ["Bash(ls)", /* harmless */]},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "./mine.sh"}]}, // mine
    ],
  },
  "model": "opus", // the large one
}
`;
    machine.write(local, mine);
    expect(machine.init('-y')).toMatchObject({ status: 0 });
    const text = machine.read(local);
    for (const comment of ['// Only for me', '/* harmless */', '}, // mine', '"opus", // the large one'])
      expect(text).toContain(comment);
    const settings = parse(text);
    expect(settings.permissions.allow).toHaveLength(2);
    expect(settings.hooks.Stop).toHaveLength(2);
    expect(Object.keys(settings.hooks)).toHaveLength(13);
    expect(machine.init('-y').stderr).toBe('Nothing to do.\n');
    expect(machine.init('--undo', '-y')).toMatchObject({ status: 0 });
    expect(machine.read(local)).toBe(mine);
  });

  it.each([
    ['a key twice', '{"hooks": {},\n "hooks": {}}'],
    ['half a file', '{"hooks": {'],
    ['nothing', ''],
    ['hooks of another shape', '{"hooks": []}'],
  ])('changes nothing at all where settings have %s', (_, text) => {
    const machine = makeMachine({ claude: '2.1.325', codex: '0.166.0' });
    machine.write('.codex/hooks.json', text);
    const before = listFiles(machine);
    const ran = machine.init('-y', '--json');
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(errorOf(ran)).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(errorOf(ran).message).toMatch(/^\.codex\/hooks\.json: .*nothing was changed$/);
    expect(listFiles(machine)).toEqual(before);
    expect(machine.init('-y', '--no-codex').status).toBe(0);
    expect(existsSync(join(machine.folder, local))).toBe(true);
  });

  it('does not write what is read-only, a folder, behind a link, or in commits', () => {
    const machine = makeMachine();
    const refuses = (message: string) => {
      const before = machine.git('status', '--porcelain', '--ignored');
      const ran = machine.init('-y');
      expect(ran.stderr).toContain(message);
      expect(ran.status).toBe(2);
      expect(machine.git('status', '--porcelain', '--ignored')).toBe(before);
    };
    machine.write(local, '{}\n');
    chmodSync(join(machine.folder, local), 0o444);
    refuses('it is read-only; nothing was changed');
    chmodSync(join(machine.folder, local), 0o644);
    machine.git('add', '--force', local);
    machine.git('commit', '--quiet', '--message', 'tracked');
    refuses('is committed to this repository');
    machine.git('rm', '--quiet', '-r', '--force', '.claude');
    machine.git('commit', '--quiet', '--message', 'gone');
    mkdirSync(join(machine.folder, local), { recursive: true });
    refuses('it is not a file; nothing was changed');

    const other = makeMachine();
    symlinkSync(makeFolder(), join(other.folder, '.claude'));
    expect(other.init('-y')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('its path contains a link; nothing was changed'),
    });
  });

  it('works from a subfolder, and for a linked worktree alone', () => {
    const machine = makeMachine();
    mkdirSync(join(machine.folder, 'deep', 'er'), { recursive: true });
    runOrch(machine, ['init', '-y'], { env: machine.env, cwd: join(machine.folder, 'deep', 'er') });
    expect(existsSync(join(machine.folder, local))).toBe(true);
    const linked = join(machine.home, 'linked');
    machine.git('worktree', 'add', '--quiet', linked);
    const there = (...args: string[]) =>
      runOrch(machine, ['init', ...args], { env: machine.env, cwd: linked });
    // It is excluded for both of them already, and the gates are approved in the clone.
    const made = there('-y').stdout;
    expect(made).toMatch(/create {3}\.claude\/settings\.local\.json +\+13 hooks, \+status line/);
    expect(made).not.toContain('exclude');
    machine.init('--undo', '-y');
    expect(existsSync(join(machine.folder, local))).toBe(false);
    expect(spawnSync('git', ['status', '--porcelain'], { cwd: linked, encoding: 'utf8' }).stdout).toBe('');
    expect(there('--undo', '-y').stdout).toContain('.git/info/exclude');
    expect(machine.read('.git/info/exclude')).not.toContain('settings.local');
  });

  it('says so where there is no agent, and still approves the gates', () => {
    const machine = makeMachine({});
    const ran = machine.init('-y');
    expect(ran).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('missing  Claude Code and Codex'),
    });
    expect(ran.stdout).toContain('approve  test: npm run test');
    expect(existsSync(join(machine.folder, '.claude'))).toBe(false);
    expect(machine.init()).toMatchObject({ status: 0, stderr: 'Nothing to do.\n' });
  });

  it('gives a Claude Code of unknown version only the events that all versions know', () => {
    const machine = makeMachine({ claude: 'unknown' });
    machine.init('-y');
    expect(Object.keys(hooksIn(machine.read(local)))).not.toContain('StopFailure');
    const folder = makeMachine({});
    folder.write(shared, '{}\n');
    expect(folder.init('-y').stdout).toContain('found    Claude Code, npm');
  });

  it('refuses where there is no repository, or no working tree', () => {
    const machine = makeMachine();
    const run = (cwd: string) =>
      errorOf(runOrch(machine, ['init', '-y', '--json'], { env: machine.env, cwd }));
    expect(run(makeFolder()).code).toBe('NOT_A_REPOSITORY');
    expect(run(makeRepository('--bare').folder).code).toBe('REPOSITORY_UNSUPPORTED');
  });

  it('prints one document with --json', () => {
    const machine = makeMachine();
    const planned = machine.init('--json');
    expect(planned.status).toBe(2);
    expect(JSON.parse(planned.stdout)).toMatchObject({ written: false });
    const done = orchJson(machine, ['init', '-y'], { env: machine.env });
    expect(done).toEqual({
      found: {
        claude: { version: '2.1.325' },
        codex: null,
        ecosystems: ['npm'],
        gates: [
          { name: 'test', run: 'npm run test' },
          { name: 'lint', run: 'npm run lint' },
        ],
        remotes: [],
        orchestrationYaml: false,
      },
      changes: [
        { path: join(machine.folder, local), diff: expect.stringMatching(/^@@ -0,0 \+1,/) },
        { path: join(machine.folder, '.claude/skills/orch/SKILL.md'), diff: expect.any(String) },
        ...['convoy', 'task-dispatch', 'task-continue'].map((name) => ({
          path: join(machine.folder, `.claude/skills/orch/skills/${name}/SKILL.md`),
          diff: expect.any(String),
        })),
        {
          path: join(machine.folder, '.claude/skills/orch/.claude-plugin/plugin.json'),
          diff: expect.any(String),
        },
        { path: join(machine.folder, '.git/info/exclude'), diff: expect.stringContaining(`+/${local}\n`) },
      ],
      written: true,
    });
    expect(orchJson(machine, ['init'], { env: machine.env })).toMatchObject({ changes: [], written: false });
  });
});
