import { describe, expect, it } from 'vitest';
import { commandOf, identifyAgent } from '../../src/agents/agent-command.ts';
import { readAgentSession } from '../../src/ids.ts';

const id = readAgentSession('3f0c3a1e-0000-4000-8000-000000000001') ?? expect.unreachable();
const brief = { text: '> Facts', file: '/home/briefs/sess-aaaa.md' };
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
    [['--session-id', 'x'], { kind: 'unknown', why: 'its --session-id is not a UUID' }],
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
    const [hook = '', ...words] = claude.add(['-p', 'Go'], {
      conversation,
      brief,
      hearsMessages: false,
    }).args;
    expect(hook).toMatch(/^--settings=\{"hooks":\{"SessionStart":.*cat \\"\$ORCH_BRIEF_FILE\\"/);
    expect(words).toEqual([`--session-id=${id}`, '-p', 'Go']);
    expect(hook).not.toContain('ORCH_MESSAGES');
    const [heard] = claude.add(['-p', 'Go'], { conversation, brief: null, hearsMessages: true }).args;
    expect(heard).toMatch(/^--settings=\{"hooks":\{"PostToolUse":.*ORCH_MESSAGES.*"Stop":.*ORCH_MESSAGES/);
    const { args, given } = claude.add(['--settings', 'mine.json', '-p', 'Go'], {
      ...{ conversation, brief, hearsMessages: true },
    });
    const [folder, prompt, ...rest] = args;
    expect({ folder, rest, given }).toEqual({
      folder: '--add-dir=/home/briefs',
      rest: [`--session-id=${id}`, '--settings', 'mine.json', '-p', 'Go'],
      given: 'file',
    });
    // Where the brief is, and nothing of what it says: a system prompt has the user's authority.
    expect(prompt).toMatch(/^--append-system-prompt=.*\/home\/briefs\/sess-aaaa\.md/);
    expect(prompt).not.toContain('Facts');
    const own = ['--settings={}', '--append-system-prompt', 'mine', '-p', 'Go'];
    expect(claude.add(own, { conversation: null, brief, hearsMessages: true })).toEqual({
      args: own,
      given: null,
    });
  });

  it.each([
    [['--session-id', id, '-p', 'Go']],
    [[`--session-id=${id}`, '-p', 'Go']],
    [['-p', 'Go']],
    [['--resume', id, '-p', 'Go']],
  ])('goes on under the same id: %j', (args) => {
    const { args: next } = claude.add(args, {
      conversation: { session: id, isNew: false },
      brief: null,
      hearsMessages: false,
    });
    expect(next.filter((word) => word !== '--resume')).toEqual([
      expect.stringMatching(new RegExp(`^(--resume=)?${id}$`)),
      '-p',
      'Go',
    ]);
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
      ['exec', '-m', 'o3', 'resume', id, '> Facts\n\nGo'],
    ],
    [
      ['exec', '--json', '--', '-Go'],
      ['exec', '--json', 'resume', id, '--', '> Facts\n\n-Go'],
    ],
  ])('%j gets the brief before its prompt', (args, next) => {
    const addition = { conversation: { session: id, isNew: false }, brief, hearsMessages: false };
    expect(codex.add(args, addition)).toEqual({ args: next, given: 'text' });
  });

  it.each([[['exec']], [['exec', '-']], [['exec', '--later-option', 'x', 'Go']], [['Go']]])(
    '%j has no sure place for it',
    (args) => {
      const { given } = codex.add(args, { conversation: null, brief, hearsMessages: false });
      expect(given).toBeNull();
    },
  );

  it('may name the folder it works in', () => {
    expect(codex.folder(['exec', '-C', 'sub', 'Go'])).toBe('sub');
    expect(codex.folder(['exec', '--cd=sub', 'Go'])).toBe('sub');
    expect(codex.folder(['exec', 'Go'])).toBeNull();
  });
});
