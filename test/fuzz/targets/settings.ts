import * as claude from '../../../src/agents/claude/claude-settings.ts';
import * as codexHooks from '../../../src/agents/codex/codex-hooks.ts';
import { addServer, removeServer } from '../../../src/agents/settings/plugin-and-tools.ts';
import { detectGates } from '../../../src/gates/find-gates.ts';
import { must, type Target } from '../target.ts';

type Edited = { readonly text: string | null } | { readonly problem: string };

/** Orch is put in, and taken out again: to the byte what was there before any orch. */
function mustGoBack(text: string, add: (text: string) => Edited, remove: (text: string) => Edited) {
  const clean = remove(text);
  if ('problem' in clean || clean.text === null) return 'refused';
  const added = add(clean.text);
  if ('problem' in added || added.text === null) return 'refused';
  const removed = remove(added.text);
  must(
    !('problem' in removed),
    `what was added can be removed: ${'problem' in removed ? removed.problem : ''}`,
  );
  must(removed.text === clean.text, 'what was there before is there again, to the byte');
  const again = add(added.text);
  must('text' in again && again.text === added.text, 'adding it twice is adding it once');
  return 'accepted';
}

const command = ['/usr/bin/node', "/it's here/orch.js"];

const claudeSettings: Target = {
  name: 'claude settings',
  form: 'json',
  weight: 2,
  samples: [
    '{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"matcher":"","hooks":[{"type":"command","command":"mine"}]}],"PreToolUse":[]},"statusLine":{"type":"command","command":"x","padding":1}}',
    '{\n  "model": "opus",\n  "hooks": {}\n}\n',
    '{\r\n\t"env": {"A": "b"},\r\n\t"statusLine": null\r\n}',
    '{}',
  ].map((text) => Buffer.from(text)),
  run: (input, random) => {
    const options = {
      command,
      shared: random.chance(0.3),
      version: random.pick([null, '2.1.325'] as const),
      isHookedElsewhere: random.chance(0.2),
      inheritedStatusLine: random.pick([null, '{"type": "command", "command": "x"}'] as const),
    };
    const text = input.toString('utf8');
    claude.readOwnEntries(text);
    claude.readForeignStatusLine(text);
    return mustGoBack(text, (each) => claude.addOrch(each, options), claude.removeOrch);
  },
};

const codexHookFile: Target = {
  name: 'codex hooks',
  form: 'json',
  weight: 2,
  samples: claudeSettings.samples,
  run: (input, random) => {
    const options = { command, shared: random.chance(0.3) };
    const text = input.toString('utf8');
    codexHooks.countOwnHooks(text);
    return mustGoBack(text, (each) => codexHooks.addOrch(each, options), codexHooks.removeOrch);
  },
};

const codexToml: Target = {
  name: 'codex config',
  form: 'yaml',
  samples: [
    'model = "gpt-5"\nnotify = ["notify-send", "a b"]\n\n[profiles.x]\nmodel = "y" # c\n[[list]]\na = {b = 1, "c d" = [1, 2]}\n',
    '# only a comment\n[tools]\nweb = true\n',
    '\uFEFFa = """x\ny"""\r\nb = \'\'\'z\'\'\'\r\nnotify = [\r\n  "x", # one\r\n]\r\n',
    'when = 2026-11-16 10:00:00Z\nn = 1e999\n"quoted.key" = \'x\'\na.b.c = [[1],[2]]',
  ].map((text) => Buffer.from(text)),
  run: (input) =>
    mustGoBack(
      input.toString('utf8'),
      (each) => addServer(each, { command, variables: ['A'] }),
      (each) => ({ text: removeServer(each) }),
    ),
};

/** A repository's own files that gates are found by, each under every name it could have. */
const projectFiles: Target = {
  name: 'project files',
  form: 'text',
  samples: [
    '{"scripts":{"test":"vitest","lint":"eslint .","build":"x"},"packageManager":"pnpm@9"}',
    '[project]\nname = "x"\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n',
    '.PHONY: test\ntest: build\n\tgo test ./...\nlint check:\n\tx\n',
    'set shell := ["bash"]\n@test arg="x": build\n  cargo test\nlint:\n',
    '[package]\nname = "x"\n[workspace]\nmembers = ["a"]\n',
  ].map((text) => Buffer.from(text)),
  run: (input) => {
    const text = input.toString('utf8');
    const names = [
      'package.json',
      'pyproject.toml',
      'Makefile',
      'justfile',
      'Cargo.toml',
      'go.mod',
      'tox.ini',
    ];
    const gates = detectGates({
      list: (path) => (path === '' || path === '.' ? names : []),
      read: () => text,
    });
    for (const { name, run } of gates) {
      must(typeof run === 'string' && !/[\n\r\0]/.test(run), `gate ${name} is ${JSON.stringify(run)}`);
      // What a repository says is never part of a command line.
      must(/^[\w ./:@=-]+$/.test(run), `gate ${name} runs ${run}`);
    }
    return gates.length > 0 ? 'accepted' : 'refused';
  },
};

export const settingsTargets: readonly Target[] = [claudeSettings, codexHookFile, codexToml, projectFiles];
