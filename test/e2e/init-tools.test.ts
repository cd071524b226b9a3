import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFiles, makeMachine } from '../support/machine.ts';
import { callTool, hello } from '../support/mcp.ts';
import { cleanEnvironment } from '../support/repository.ts';

const agents = { claude: '2.1.326 (Claude Code)', codex: 'codex-cli 0.169.0' };
const skill = '.claude/skills/orch/SKILL.md';
const otherSkills = ['convoy', 'task-dispatch', 'task-continue'];
const plugin = '.claude/skills/orch/.claude-plugin/plugin.json';
const codexSkill = '.agents/skills/orch/SKILL.md';
const codexConfig = '.codex/config.toml';

describe('the tools that orch init installs', () => {
  it('are a server that both agents can start as it is written, and the same skills', () => {
    const machine = makeMachine(agents);
    machine.init('-y');
    expect(machine.git('status', '--porcelain', '--untracked-files=all')).toBe('');
    expect(machine.read(skill)).toBe(machine.read(codexSkill));
    for (const name of otherSkills) {
      const ofClaude = machine.read(`.claude/skills/orch/skills/${name}/SKILL.md`);
      expect(ofClaude).toMatch(new RegExp(`^---\\nname: ${name}\\ndescription: .+\\n---\\n`));
      expect(ofClaude).toBe(machine.read(`.agents/skills/orch/${name}/SKILL.md`));
    }
    expect(machine.read(skill)).toMatch(/^---\nname: orch\ndescription: .+\n---\n/);
    const { mcpServers } = JSON.parse(machine.read(plugin));
    const [, command = '', args = ''] =
      /^\[mcp_servers\.orch\]\ncommand = (".+")\nargs = (\[.+\])\n/.exec(machine.read(codexConfig)) ?? [];
    expect({ command: JSON.parse(command), args: JSON.parse(args) }).toEqual(mcpServers.orch);
    const { status, stdout } = spawnSync(mcpServers.orch.command, mcpServers.orch.args, {
      cwd: machine.folder,
      env: cleanEnvironment(machine.home, { ORCH_EPIC: 'x' }),
      input: hello + callTool(1, 'record', { kind: 'note', text: 'hi' }),
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toContain('note recorded for x');
  });

  it('stay out where they are not wanted, and where the plugin from a marketplace has them', () => {
    const without = makeMachine(agents);
    expect(without.init('-y', '--no-tools').stdout).not.toMatch(/skill|MCP|tools/);
    expect(existsSync(join(without.folder, skill))).toBe(false);

    const machine = makeMachine(agents);
    mkdirSync(join(machine.home, '.claude'));
    mkdirSync(join(machine.home, '.codex'));
    writeFileSync(
      join(machine.home, '.claude/settings.json'),
      '{"enabledPlugins": {"orch@create-something": true}}',
    );
    writeFileSync(
      join(machine.home, '.codex/config.toml'),
      '[plugins."orch@create-something"]\nenabled = true\n',
    );
    const { stdout } = machine.init('-y');
    expect(stdout).toMatch(/settings\.local\.json +\+status line\n/);
    expect(stdout).not.toMatch(/hooks|skill|MCP/);

    // The one that orch init itself installs, switched on by hand in Claude Code, is no other.
    const own = makeMachine({ claude: '2.1.326' });
    own.write('.claude/settings.local.json', '{"enabledPlugins": {"orch@skills-dir": true}}');
    expect(own.init('-y').stdout).toMatch(/hooks.*\n.*skill/);
  });

  it('leave alone what is not theirs: a skill that was changed, a config that is committed or has such a server', () => {
    const machine = makeMachine(agents);
    machine.init('-y');
    machine.write(skill, `${machine.read(skill)}my own words\n`);
    const changed = machine.read(skill);
    expect(machine.init('-y')).toMatchObject({ status: 0, stderr: 'Nothing to do.\n' });
    machine.init('--undo', '-y');
    expect(machine.read(skill)).toBe(changed);
    expect(existsSync(join(machine.folder, plugin))).toBe(false);

    const committed = makeMachine(agents);
    committed.write(codexConfig, 'model = "x"\n');
    committed.git('add', '--force', codexConfig);
    const ran = committed.init('-y');
    expect(ran).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('codex mcp add orch -- orch mcp'),
    });
    expect(committed.read(codexConfig)).toBe('model = "x"\n');

    const taken = makeMachine(agents);
    taken.write(codexConfig, '[mcp_servers.orch]\ncommand = "mine"\n');
    const before = listFiles(taken);
    expect(taken.init('-y')).toMatchObject({ status: 2, stderr: expect.stringContaining('--no-tools') });
    expect(listFiles(taken)).toEqual(before);
  });

  it.each([
    ['nothing', null],
    ['a text without a line end', 'model = "x"'],
    ['tables', '# mine\r\nmodel = "x"\r\n\r\n[mcp_servers.other]\ncommand = "a"\n'],
    ['nothing but a line end', '\n'],
  ])('are taken out of a Codex config with %s to the byte, and brought up to date in it', (_, text) => {
    const machine = makeMachine({ codex: '0.169.0' });
    if (text !== null) machine.write(codexConfig, text);
    const before = listFiles(machine);
    machine.init('-y');
    const added = machine.read(codexConfig);
    expect(added.startsWith(text ?? '')).toBe(true);
    machine.write(codexConfig, added.replace(/args = \[".*orch\.js"/, 'args = ["/elsewhere/orch.js"'));
    expect(machine.init('-y').status).toBe(0);
    expect(machine.read(codexConfig)).toBe(added);
    machine.init('--undo', '-y');
    expect(listFiles(machine)).toEqual(before);
  });

  it.each([
    ['{"permissions": {"allow": ["Bash"], "deny": []}}'],
    ['{\n  "permissions": {\n    "deny": ["Read"]\n  }\n}\n'],
    ['{"permissions": {"allow": []}}'],
    ['{}'],
    ['{"enabledMcpjsonServers": ["mine"]}'],
  ])('are allowed in settings such as %s, and disallowed to the byte', (text) => {
    const machine = makeMachine({ claude: '2.1.326' });
    machine.write('.claude/settings.local.json', text);
    const before = listFiles(machine);
    machine.init('-y');
    const { permissions, enabledMcpjsonServers } = JSON.parse(machine.read('.claude/settings.local.json'));
    expect(permissions.allow).toContain('mcp__plugin_orch_orch');
    expect(enabledMcpjsonServers).toContain('plugin:orch:orch');
    expect(machine.init('-y').stderr).toBe('Nothing to do.\n');
    machine.init('--undo', '-y');
    expect(listFiles(machine)).toEqual(before);
  });

  it('come with rules for a team that wants them, once and not again over changes', () => {
    const machine = makeMachine({ claude: '2.1.326' });
    const rules = '.claude/rules/orchestration-patterns.md';
    machine.init('-y');
    expect(existsSync(join(machine.folder, rules))).toBe(false);
    machine.init('-y', '--rules');
    expect(machine.git('status', '--porcelain', '--untracked-files=all')).toBe(`?? ${rules}`);
    writeFileSync(join(machine.folder, rules), 'ours\n');
    machine.init('-y', '--rules');
    machine.init('-y', '--undo');
    expect(readFileSync(join(machine.folder, rules), 'utf8')).toBe('ours\n');
  });
});
