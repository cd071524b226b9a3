import { describe, expect, it } from 'vitest';
import { commandOf, identifyAgent } from '../../src/integration/agent-command.ts';

const id = '3f0c3a1e-0000-4000-8000-000000000001';
const claude = commandOf('claude');
const codex = commandOf('codex');

describe('an agent', () => {
  it.each([
    ['claude', 'claude'],
    ['/opt/bin/claude', 'claude'],
    ['./codex', 'codex'],
    ['claude.exe', 'claude'],
    ['claude-wrapper', null],
    ['', null],
  ])('is known by its name: %s', (program, agent) => {
    expect(identifyAgent([program, '-p'])).toBe(agent);
  });
});

describe("Claude Code's command line", () => {
  it.each([
    [['-p', 'Go'], { kind: 'open' }],
    [[], { kind: 'open' }],
    [['-p', '--', '--continue'], { kind: 'open' }],
    [['--session-id', id], { kind: 'named', session: id, isNew: true }],
    [[`--resume=${id}`, '-p', 'Go'], { kind: 'named', session: id, isNew: false }],
    [['-r', id], { kind: 'named', session: id, isNew: false }],
    [['-c', '-p', 'Go'], { kind: 'latest' }],
    [['-pc', 'Go'], { kind: 'latest' }],
    [['--continue'], { kind: 'latest' }],
    [['mcp', 'list'], { kind: 'none' }],
    [['--help'], { kind: 'none' }],
  ])('%j', (args, conversation) => {
    expect(claude.read(args)).toEqual(conversation);
  });

  it.each([
    [['--resume']],
    [['--resume', '--fork-session']],
    [['--resume', 'the login thing']],
    [['-r', id, '--fork-session']],
    [['-p', 'Go', '--no-session-persistence']],
  ])('%j has a conversation nobody can know', (args) => {
    expect(claude.read(args)).toMatchObject({ kind: 'unknown' });
  });

  it('is added to in front, and the user’s own words stay', () => {
    const conversation = { session: id, isNew: true };
    expect(claude.add(['-p', 'Go'], { conversation, brief: 'Facts' })).toEqual({
      args: ['--append-system-prompt', 'Facts', '--session-id', id, '-p', 'Go'],
      tookBrief: true,
    });
    const own = ['--append-system-prompt', 'mine', '-p', 'Go'];
    expect(claude.add(own, { conversation: null, brief: 'Facts' })).toEqual({ args: own, tookBrief: false });
  });

  it.each([
    [['--session-id', id, '-p', 'Go']],
    [[`--session-id=${id}`, '-p', 'Go']],
    [['-p', 'Go']],
    [['--resume', id, '-p', 'Go']],
  ])('goes on under the same id: %j', (args) => {
    const { args: next } = claude.add(args, { conversation: { session: id, isNew: false }, brief: null });
    expect(next).toEqual(['--resume', id, '-p', 'Go']);
  });
});

describe("Codex's command line", () => {
  it.each([
    [['exec', 'Go'], { kind: 'open' }],
    [['-m', 'resume', 'exec', 'Go'], { kind: 'open' }],
    [['Go'], { kind: 'open' }],
    [['exec', 'resume', id, 'Go'], { kind: 'named', session: id, isNew: false }],
    [['exec', 'resume', '--last', 'Go'], { kind: 'latest' }],
    [['resume', id], { kind: 'named', session: id, isNew: false }],
    [['login'], { kind: 'none' }],
    [['exec', '--help'], { kind: 'none' }],
  ])('%j', (args, conversation) => {
    expect(codex.read(args)).toEqual(conversation);
  });

  it.each([
    [
      ['exec', '-m', 'o3', 'Go'],
      ['exec', '-m', 'o3', 'resume', id, 'Facts\n\n---\n\nGo'],
    ],
    [
      ['exec', '--json', '--', '-Go'],
      ['exec', '--json', 'resume', id, '--', 'Facts\n\n---\n\n-Go'],
    ],
  ])('%j gets the brief before its prompt', (args, next) => {
    const addition = { conversation: { session: id, isNew: false }, brief: 'Facts' };
    expect(codex.add(args, addition)).toEqual({ args: next, tookBrief: true });
  });

  it.each([[['exec']], [['exec', '-']], [['exec', '--later-option', 'x', 'Go']], [['Go']]])(
    '%j has no sure place for it',
    (args) => {
      const { tookBrief } = codex.add(args, { conversation: null, brief: 'Facts' });
      expect(tookBrief).toBe(false);
    },
  );

  it('may name the folder it works in', () => {
    expect(codex.folder(['exec', '-C', 'sub', 'Go'])).toBe('sub');
    expect(codex.folder(['exec', '--cd=sub', 'Go'])).toBe('sub');
    expect(codex.folder(['exec', 'Go'])).toBeNull();
  });
});
