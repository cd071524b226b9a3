import { readAgentSession } from '../../ids.ts';
import type { Addition, AgentCommand, Conversation } from '../agent-command.ts';

/** Options that take a value. */
const withValue = new Set(
  `-c --config --enable --disable -m --model --local-provider -p --profile -s --sandbox -a --ask-for-approval
  -C --cd --add-dir --thread-source --cyber-access-program --output-schema --color -o --output-last-message
  --remote`.split(/\s+/),
);
const withoutValue = new Set(
  `--strict-config --oss --approve-for-me --dangerously-bypass-approvals-and-sandbox --yolo --full-auto
  --dangerously-bypass-hook-trust --worktree --skip-git-repo-check --ephemeral --ignore-user-config
  --ignore-rules --json --last --all --search --no-alt-screen`.split(/\s+/),
);

type Word = { readonly text: string; readonly at: number };

type Line = {
  /** Neither options nor their values. */
  readonly words: readonly Word[];
  readonly options: ReadonlyMap<string, string>;
  /** False if there is an unknown option: the next word may be its value. */
  readonly isSure: boolean;
};

/** Reads and extends Codex's command line. */
export const codexCommand: AgentCommand = {
  read: (args) => readLine(parseArguments(args)),
  folder: (args) => {
    const { options } = parseArguments(args);
    return options.get('-C') ?? options.get('--cd') ?? null;
  },
  prompt: (args) => findPrompt(parseArguments(args))?.text ?? null,
  takesNewId: false,
  add,
};

function parseArguments(args: readonly string[]): Line {
  const words: Word[] = [];
  const options = new Map<string, string>();
  let isSure = true;
  for (let at = 0; at < args.length; at += 1) {
    const text = args[at] ?? '';
    if (text === '--') {
      words.push(...args.slice(at + 1).map((rest, index) => ({ text: rest, at: at + 1 + index })));
      break;
    }
    const [, flag = '', value] = /^(--[^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (text === '-' || !text.startsWith('-')) words.push({ text, at });
    else if (value !== undefined) options.set(flag, value);
    else if (withValue.has(text)) {
      at += 1;
      options.set(text, args[at] ?? '');
    } else {
      options.set(text, '');
      if (!withoutValue.has(text)) isSure = false;
    }
  }
  return { words, options, isSure };
}

function readLine({ words, options }: Line): Conversation {
  const has = (flag: string) => options.has(flag);
  if (['--help', '-h', '--version', '-V'].some(has)) return { kind: 'none' };
  const [first, ...others] = words.map(({ text }) => text);
  const isExec = first === 'exec' || first === 'e';
  const [what, id] = isExec ? others : [first, ...others];
  if (has('--ephemeral')) return { kind: 'unknown', why: 'it keeps no transcript' };
  if (what === 'fork') return { kind: 'unknown', why: 'it forks a conversation' };
  if (what === 'resume') {
    if (has('--last')) return { kind: 'latest' };
    const session = readAgentSession(id);
    return session === null
      ? { kind: 'unknown', why: 'it picks its conversation itself' }
      : { kind: 'named', session, isNew: false };
  }
  const isOther = isExec
    ? what === 'review' || what === 'help'
    : what !== undefined && subcommands.test(what);
  return isOther ? { kind: 'none' } : { kind: 'open' };
}

/** Subcommands, which appear where the prompt would. */
const subcommands =
  /^(?:agents|review|login|logout|mcp|mcp-server|plugin|app-server|remote-control|completion|update|doctor|sandbox|debug|apply|a|queue|archive|delete|migrate-[a-z-]+|unarchive|cloud|exec-server|features|help)$/;

/** Finds the prompt of `codex exec`, if it is an argument. */
function findPrompt({ words, isSure }: Line): Word | null {
  const [exec, prompt, more] = words;
  if (!isSure || (exec?.text !== 'exec' && exec?.text !== 'e')) return null;
  if (prompt === undefined || prompt.text === '-' || more !== undefined) return null;
  return prompt;
}

function add(args: readonly string[], { conversation, brief }: Addition) {
  const prompt = findPrompt(parseArguments(args));
  if (prompt === null) return { args, given: null };
  const before = args.slice(0, prompt.at);
  const isAfterDashes = before.at(-1) === '--';
  const resume = conversation && !conversation.isNew ? ['resume', conversation.session] : [];
  const place = isAfterDashes ? [...before.slice(0, -1), ...resume, '--'] : [...before, ...resume];
  const text = brief === null ? prompt.text : `${brief.text.trimEnd()}\n\n${prompt.text}`;
  const given = brief === null ? null : ('text' as const);
  return { args: [...place, text, ...args.slice(prompt.at + 1)], given };
}
