import { join, relative, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import { askGit } from '../git/run-git.ts';
import { listCheckouts, readBranch } from '../git/worktree/merge-commits.ts';
import { listOwnWorktrees } from '../git/worktree/own-worktrees.ts';
import { isEpicId, nameFile, parseEpicId, readInnerPath } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { loadConvoyPlan } from '../plan/parse-plan.ts';
import type { Plan } from '../plan/plan.ts';
import { isActive, type ListedRun, listRuns, readRun } from '../plan/run/known-runs.ts';
import { type EpicView, readView } from '../record/view.ts';
import { resolveEpic } from '../record/which/which-epic.ts';
import { isConvoyEpic } from '../session/epic-status.ts';
import { statIfThere } from '../system/disk.ts';
import { findNearest } from '../text.ts';
import type { EpicId } from '../types.ts';
import { mergedBranch, mergedName } from './names.ts';

/* Which convoy, and which of its tasks, a person means. */

/** A convoy that has begun. */
export type KnownConvoy = {
  readonly epic: EpicId;
  readonly view: EpicView;
  /** Its newest run. */
  readonly run: ListedRun;
  /** Does a scheduler work on it in this clone? */
  readonly isActive: boolean;
  /** The path of its plan's file; null if that is gone. */
  readonly path: string | null;
  /** Has it begun as a convoy? Other runs have records of the same kind. */
  readonly isConvoy: boolean;
};

/** Lists the convoys of this repository, those at work first, then the newest. */
export async function listConvoys(orch: Orch): Promise<KnownConvoy[]> {
  const epics = await listConvoyEpics(orch);
  const known = await Promise.all(epics.map((epic) => readConvoy(orch, epic)));
  return known
    .filter((each) => each !== null)
    .sort((a, b) => Number(b.isActive) - Number(a.isActive) || b.run.head.startedAt - a.run.head.startedAt);
}

/** A convoy has a branch for what it merged. */
async function listConvoyEpics({ repository }: Orch): Promise<EpicId[]> {
  const args = ['for-each-ref', '--format=%(refname)', `refs/heads/orch/*/${mergedName}`];
  const { stdout } = await askGit(repository, args);
  const names = stdout.split('\n').map((ref) => ref.split('/')[3] ?? '');
  return names.filter(isEpicId).map(parseEpicId);
}

/** Reads a convoy by its epic; null if none has begun there. */
export async function readConvoy(orch: Orch, epic: EpicId): Promise<KnownConvoy | null> {
  const view = await readView(orch, epic);
  const [run] = listRuns(view.state);
  if (run === undefined) return null;
  const isConvoy = isConvoyEpic(view);
  return {
    epic,
    view,
    run,
    isActive: isActive(orch, run),
    path: await findPlanFile(orch, epic, run),
    isConvoy,
  };
}

/**
 * Finds the convoy of a plan that is begun and not done, or not landed; null if there is none. What is done of it is not
 * paid for twice.
 */
export async function findOpenConvoy(
  orch: Orch,
  { name }: Pick<Plan, 'name'>,
  epic: string | undefined,
): Promise<KnownConvoy | null> {
  const own = (await resolveEpic(orch, { given: epic, name, create: true })).epic;
  const known = await readConvoy(orch, own);
  if (!known?.isConvoy) return null;
  return known.run.head.status !== 'succeeded' || !(await isLanded(orch, known)) ? known : null;
}

/** Does a branch that is none of orch's, or the checkout, have all that a convoy has merged? */
export async function isLanded({ repository }: Orch, { epic }: Pick<KnownConvoy, 'epic'>): Promise<boolean> {
  const merged = await readBranch(repository, mergedBranch(epic));
  if (merged === null) return true;
  const head = await askGit(repository, ['merge-base', '--is-ancestor', merged, 'HEAD']);
  if (head.status === 0) return true;
  const args = ['for-each-ref', `--contains=${merged}`, '--format=%(refname)', 'refs/heads/'];
  const { stdout } = await askGit(repository, args);
  return stdout.split('\n').some((ref) => ref !== '' && !ref.startsWith('refs/heads/orch/'));
}

/** Where the plan of a convoy is that was started without a file. */
export function ownPlanPath({ home }: Pick<Orch, 'home'>, epic: EpicId): string {
  return join(home, 'convoys', nameFile(epic, '.yaml'));
}

/** The plan's file in the checkout where orch was called; else in another of the user's checkouts. */
async function findPlanFile(orch: Orch, epic: EpicId, { head }: ListedRun): Promise<string | null> {
  const inner = readInnerPath(head.file);
  const isThere = (path: string) => statIfThere(path)?.isFile() === true;
  const own = ownPlanPath(orch, epic);
  if (inner === null) return isThere(own) ? own : null;
  // A worker may have changed the file in its worktree.
  const workers = new Set(listOwnWorktrees(orch, '').map(({ path }) => path));
  const { worktree } = orch.repository;
  if (worktree !== null && !workers.has(worktree) && isThere(join(worktree, inner)))
    return join(worktree, inner);
  const checkouts = (await listCheckouts(orch.repository)).filter((each) => !workers.has(each));
  return checkouts.map((each) => join(each, inner)).find(isThere) ?? null;
}

/** Is the plan of a convoy in another checkout than the one where orch was called? */
export function isPlanElsewhere(orch: Orch, { epic, path }: Pick<KnownConvoy, 'epic' | 'path'>): boolean {
  const { worktree } = orch.repository;
  if (path === null || worktree === null || path === ownPlanPath(orch, epic)) return false;
  return relative(worktree, path).startsWith('..');
}

/** What a person named: a convoy, or one task of it. */
export type Named = { readonly convoy: KnownConvoy; readonly task: string | null };

export type NameQuestion = {
  /** A plan's file, the name of a convoy, of a task, or `convoy/task`; the only or newest convoy by default. */
  readonly word: string | undefined;
  readonly epic: string | undefined;
  readonly cwd: string;
};

/** Finds what a person means. */
export async function findNamed(orch: Orch, { word, epic, cwd }: NameQuestion): Promise<Named> {
  if (epic !== undefined) {
    const convoy = await readOrRefuse(orch, parseEpicId(epic));
    return {
      convoy,
      task: word === undefined || isFile(cwd, word) ? null : await expectTask(orch, convoy, word),
    };
  }
  if (word !== undefined && isFile(cwd, word)) {
    const plan = loadConvoyPlan(resolve(cwd, word), word);
    const own = (await resolveEpic(orch, { given: undefined, name: plan.name, create: true })).epic;
    return { convoy: await readOrRefuse(orch, own), task: null };
  }
  const convoys = await listConvoys(orch);
  if (word === undefined || convoys.length === 0) return { convoy: chooseConvoy(convoys), task: null };
  const named = convoys.find((each) => each.epic === word);
  if (named) return { convoy: named, task: null };
  const slash = word.indexOf('/');
  const above = convoys.find((each) => each.epic === word.slice(0, slash));
  if (slash > 0 && above)
    return { convoy: above, task: await expectTask(orch, above, word.slice(slash + 1)) };
  return findTask(orch, convoys, word);
}

function isFile(cwd: string, word: string): boolean {
  return statIfThere(resolve(cwd, word))?.isFile() ?? false;
}

async function readOrRefuse(orch: Orch, epic: EpicId): Promise<KnownConvoy> {
  const convoy = await readConvoy(orch, epic);
  if (convoy !== null) return convoy;
  throw new OrchError('EPIC_NOT_FOUND', `no convoy has begun on ${epic}`, {
    hint: 'Start one: orch convoy start PLAN. List them: orch convoy list',
    data: { epicId: epic },
  });
}

function chooseConvoy(convoys: readonly KnownConvoy[]): KnownConvoy {
  const [first, second] = convoys;
  if (first === undefined)
    throw new OrchError('EPIC_NOT_FOUND', 'this repository has no convoys yet', {
      hint: 'Start one: orch convoy start PLAN',
    });
  if (!second?.isActive) return first;
  const active = convoys.filter((each) => each.isActive).map(({ epic }) => epic);
  throw new OrchError('USAGE', `which convoy? ${active.length} are at work: ${active.join(', ')}`, {
    hint: `Name one, such as: ${active[0]}`,
    data: { convoys: active },
  });
}

/** The ids of a convoy's tasks: those of its plan, if that can be read, and those recorded. */
async function listTaskIds({ git }: Orch, { view, run, path }: KnownConvoy): Promise<string[]> {
  let plan: Plan | null = null;
  try {
    plan = path === null ? null : loadConvoyPlan(path);
  } catch {
    // A plan with mistakes hides no task that has begun.
  }
  const planned = (plan?.tasks ?? []).map(({ id }) => id);
  return [...new Set([...planned, ...Object.keys((await readRun(git, view, run)).tasks)])];
}

async function expectTask(orch: Orch, convoy: KnownConvoy, task: string): Promise<string> {
  const ids = await listTaskIds(orch, convoy);
  if (ids.includes(task)) return task;
  throw noTask(task, ids, convoy.epic);
}

async function findTask(orch: Orch, convoys: readonly KnownConvoy[], word: string): Promise<Named> {
  const all = await Promise.all(
    convoys.map(async (convoy) => ({ convoy, ids: await listTaskIds(orch, convoy) })),
  );
  const found = all.filter(({ ids }) => ids.includes(word)).map(({ convoy }) => convoy);
  const [first, second] = found;
  const isClear = second === undefined || (first?.isActive && !second.isActive);
  if (first !== undefined && isClear) return { convoy: first, task: word };
  if (first === undefined)
    throw noTask(word, [...convoys.map(({ epic }) => epic), ...all.flatMap(({ ids }) => ids)], null);
  const names = found.map(({ epic }) => `${epic}/${word}`);
  throw new OrchError('USAGE', `which ${word}? ${names.slice(0, 10).join(', ')}`, {
    hint: `Name the convoy too, such as: ${names[0]}`,
    data: { tasks: names },
  });
}

function noTask(word: string, known: readonly string[], convoy: EpicId | null): OrchError {
  const shown = JSON.stringify(word.slice(0, 80));
  const what = convoy === null ? `no convoy or task is called ${shown}` : `${convoy} has no task ${shown}`;
  const meant = findNearest(word, known);
  return new OrchError('USAGE', `${what}${meant ? `; did you mean ${meant}?` : ''}`, {
    hint: 'See what there is: orch convoy list, orch convoy show NAME',
    data: { name: word, known: known.slice(0, 50) },
  });
}

/** How commands name a convoy: its plan's file as seen from here, or its name. */
export function nameForCommands({ epic, path }: Pick<KnownConvoy, 'epic' | 'path'>, orch: Orch, cwd: string) {
  const isOwn = path === null || path === ownPlanPath(orch, epic);
  return isOwn ? epic : relative(cwd, path);
}
