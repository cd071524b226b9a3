import { dirname, join } from 'node:path';
import { readOwnEntries } from '../agents/claude/claude-settings.ts';
import type { OrchCommand } from '../agents/orch-command.ts';
import type { CommandLine, Gate } from '../config/load.ts';
import { approve, isApproved } from '../config/trust.ts';
import { OrchError } from '../errors.ts';
import { listGates } from '../gates/run-baseline.ts';
import type { Claim } from '../orch.ts';
import { isFromInside } from '../record/which/origin.ts';
import { readIfThere } from '../system/disk.ts';
import { thisCommand, userFolders } from '../system/process/identity.ts';
import { quoteForShell } from '../text.ts';
import { using, type Where } from '../where.ts';
import { type InitFacts, type InitFindings, readInitFacts } from './init-facts.ts';
import { planInit, planUndo } from './plan-init.ts';
import { type FileChange, formatDiff, writeChanges } from './write-changes.ts';

export type InitOptions = {
  /** Removes exactly what was added. */
  readonly undo?: boolean;
  /** Writes to `.claude/settings.json`, for the whole team. */
  readonly shared?: boolean;
  /** Connects Claude Code; by default if it is found. */
  readonly claude?: boolean;
  /** Connects Codex; by default if it is found. */
  readonly codex?: boolean;
  /** Adds the MCP server and the skills; by default. */
  readonly tools?: boolean;
  /** Also writes `.orchestration/config.yaml`. */
  readonly config?: boolean;
  /** Also writes `.claude/rules/orchestration-patterns.md`. */
  readonly rules?: boolean;
  /** How agents start orch; this program by default. */
  readonly command?: OrchCommand;
  /** The environment variables orch needs in Codex, which passes on few by default. */
  readonly variables?: readonly string[];
  /** An agent can't approve anything: approved gates and settings take effect in the user's name. */
  readonly byAgent?: boolean;
};

/** What connecting agents would change, and what needs the user's approval. */
export type InitPreview = {
  readonly found: InitFindings;
  readonly changes: readonly (FileChange & { readonly diff: string })[];
  /** Gates that would run automatically from now on, as the user would type them. */
  readonly unapproved: readonly {
    readonly name: string;
    readonly run: string;
    readonly fix: string | null;
    readonly gate: Gate;
  }[];
  /** Settings that need the user's approval. */
  readonly claims: readonly Claim[];
  readonly isNeeded: boolean;
  readonly isTrackedChanged: boolean;
  /** Is orch on the PATH? Otherwise shared settings do nothing. */
  readonly isOrchOnPath: boolean;
  /** The shared file, if an undo without `shared` leaves hooks in it. */
  readonly sharedHooksIn: string | null;
  readonly codex: {
    readonly hooks: boolean;
    /** Did an earlier orch connect every repository, which is limited to this one now? */
    readonly hooksEverywhere: boolean;
    readonly server: boolean;
    /** Codex files that are committed, and so left alone. */
    readonly trackedHooks: string | null;
    readonly trackedConfig: string | null;
  };
};

/** Returns what connecting Claude Code and Codex would change; changes nothing. */
export async function previewInit(options: InitOptions = {}, where: Where = {}): Promise<InitPreview> {
  return using(where, async (orch) => {
    const { worktree } = orch.repository;
    if (worktree === null)
      throw new OrchError(
        'REPOSITORY_UNSUPPORTED',
        'agents need a working tree, and this is a bare repository',
        {
          hint: 'Run it in a working tree',
        },
      );
    const { undo = false } = options;
    const gates = undo ? [] : listGates(await orch.readConfig(), worktree);
    const facts = await readInitFacts({ ...orch.repository, worktree }, userFolders(), gates);
    const choices = readChoices(options);
    const changes = undo ? planUndo(facts, choices) : planInit(facts, choices);
    const byAgent = options.byAgent === true || isFromInside(orch.home);
    const claims = undo || byAgent ? [] : await orch.listUnapproved();
    const unapproved = byAgent || isApproved(orch.home, gates) ? [] : gates;
    const isTracked = ({ name }: { readonly name: string }) => facts.tracked.includes(name);
    const isSharedLeft = undo && !choices.shared && readOwnEntries(facts.shared.text).hooks > 0;
    return {
      found: facts.found,
      changes: changes.map((change) => ({ ...change, diff: formatDiff(change.before, change.after) })),
      unapproved: unapproved.map(describeGate),
      claims,
      isNeeded: changes.length > 0 || unapproved.length > 0 || claims.length > 0,
      isTrackedChanged: changes.some(isTracked),
      isOrchOnPath: facts.isOrchOnPath,
      sharedHooksIn: isSharedLeft ? facts.shared.name : null,
      codex: describeCodex(facts, changes),
    };
  });
}

/** Writes the changes of a preview, each file only if it has not changed since, and stores the user's approval. */
export async function applyInit(preview: InitPreview, where: Where = {}): Promise<void> {
  const { changes, unapproved, claims } = preview;
  return using(where, async (orch) => {
    await writeChanges(orch, changes);
    if (unapproved.length > 0)
      await approve(
        orch,
        unapproved.map(({ gate }) => gate),
      );
    if (claims.length > 0) await orch.approveClaims(claims);
  });
}

function readChoices(options: InitOptions) {
  const { claude = true, codex = true, tools = true, shared = false, command = thisCommand() } = options;
  const read = (...path: string[]) => {
    const file = join(dirname(dirname(command.at(-1) ?? '')), 'templates', ...path);
    const text = readIfThere(file)?.toString('utf8');
    if (text === undefined) throw new Error(`${file} is missing`);
    return text;
  };
  const readSkill = (name: string) => read('plugin', 'skills', name, 'SKILL.md');
  const template = read('config.yaml');
  return {
    command,
    variables: options.variables ?? [],
    shared,
    claude,
    codex,
    config: options.config ? template : null,
    skills: tools
      ? {
          orch: readSkill('orch'),
          convoy: readSkill('convoy'),
          'task-dispatch': readSkill('task-dispatch'),
          'task-continue': readSkill('task-continue'),
        }
      : null,
    rules: options.rules ? read('rules', 'orchestration-patterns.md') : null,
    template,
  };
}

function describeGate(gate: Gate): InitPreview['unapproved'][number] {
  const typed = (command: CommandLine) => (typeof command === 'string' ? command : quoteForShell(command));
  return { name: gate.name, run: typed(gate.run), fix: gate.fix === null ? null : typed(gate.fix), gate };
}

function describeCodex(facts: InitFacts, changes: readonly FileChange[]): InitPreview['codex'] {
  const { codexHooks, codexUserHooks, tools, tracked, found } = facts;
  const isChanged = (target: { readonly path: string }) => changes.some(({ path }) => path === target.path);
  const ifTracked = ({ name }: { readonly name: string }) =>
    found.codex && tracked.includes(name) ? name : null;
  return {
    hooks: isChanged(codexHooks),
    hooksEverywhere: isChanged(codexUserHooks),
    server: isChanged(tools.codexConfig),
    trackedHooks: ifTracked(codexHooks),
    trackedConfig: ifTracked(tools.codexConfig),
  };
}
