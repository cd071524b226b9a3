import { describe, expect, it } from 'vitest';
import { addServer, removeServer } from '../../src/agents/settings/plugin-and-tools.ts';

const start = { command: ['/opt/orch/bin/orch'], variables: ['A'] };

describe("orch's server in a config.toml of Codex", () => {
  it.each([
    '',
    '\uFEFF',
    '# only\n',
    'a = 1',
    'n = 9007199254740993\r\n[t]',
    'mcp_servers.other.command = "x"\n',
    '[mcp_servers.other]\ncommand = "x"\n[tui]\nmcp_servers = "mine"\n',
    'text = """\n[mcp_servers.orch]\n"""\n',
  ])('is added, and taken out to the byte: %j', (text) => {
    const added = addServer(text, start);
    if ('problem' in added) throw new Error(added.problem);
    expect(added.text).toContain('\n[mcp_servers.orch]\ncommand = "/opt/orch/bin/orch"\nargs = ["mcp"]\n');
    expect(removeServer(added.text)).toBe(text);
  });

  it.each([
    ['a = \n', /line 1 /],
    ['a = 1\nb\n', /line 2 /],
    ['a = 1\na = 2\n', /line 2 /],
    ['a = [1, 2\n', /line \d /],
    ['[t\n', /line 1 /],
    ['a = """x\n', /line \d /],
    ['<<<<<<< HEAD\n', /line 1 /],
    [`a = ${'['.repeat(100_000)}`, /line 1 /],
    ['mcp_servers = {}\n', /MCP servers/],
    ['mcp_servers.orch.command = "x"\n', /MCP servers/],
    ['[mcp_servers]\n"orch" = { command = "x" }\n', /MCP servers/],
    ["[ mcp_servers . 'orch' ]\n", /MCP servers/],
  ])('is refused where it cannot be added: %.40j', (text, problem) => {
    expect(addServer(text, start)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
