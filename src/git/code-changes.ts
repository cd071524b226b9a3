import type { Millis, Oid } from '../types.ts';
import { listChanges } from './changes.ts';
import type { Repository } from './repository.ts';
import { runGit } from './spawn.ts';

/** How code differs from what it was, and what was committed on the way. */
export type CodeDifference = {
  /** Every file that differs from `base`. */
  readonly files: readonly CodeFile[];
  /** Newest last. */
  readonly commits: readonly { readonly oid: Oid; readonly subject: string }[];
};

export type CodeFile = {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'deleted';
  /** Lines; null where it is not text, or where there are too many files to count. */
  readonly added: number | null;
  readonly removed: number | null;
  readonly state: 'committed' | 'uncommitted' | 'untracked';
};

export type CodeRequest = {
  /** Where the work began; null where there was no commit yet. */
  readonly base: Oid | null;
  readonly head: Oid | null;
  /** The files as they are now. */
  readonly tree: Oid;
  /** The HEAD from which on commits are told; null: none are. */
  readonly since: Oid | null;
  /** Commits made before this are somebody's that were only fetched. */
  readonly after: Millis;
};

/** Of more files than this the lines are not counted: git would read every one of them. */
const mostCounted = 400;
const mostCommits = 40;

/** The tree without files, which git knows without having it. */
const emptyTree: { readonly [F in Repository['format']]: string } = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
};

export async function readCodeDifference(
  repository: Repository,
  { base, head, tree, since, after }: CodeRequest,
): Promise<CodeDifference> {
  const empty = emptyTree[repository.format] as Oid; // it is one
  const [changed, sinceHead, commits] = await Promise.all([
    listChanges(repository, base ?? empty, tree, mostCounted),
    head === base ? null : listChanges(repository, head ?? empty, tree, 0),
    since === null || head === null || since === head ? [] : listCommits(repository, since, head, after),
  ]);
  const open = new Map((sinceHead ?? changed).map(({ path, change }) => [path, change]));
  const files = changed.map((file): CodeFile => {
    const change = open.get(file.path);
    const state = change === undefined ? 'committed' : change === 'added' ? 'untracked' : 'uncommitted';
    return { ...file, state };
  });
  return { files, commits };
}

async function listCommits(repository: Repository, from: Oid, to: Oid, after: Millis) {
  const options = ['--first-parent', '--reverse', `-n${mostCommits}`, '--format=%H%x09%ct%x09%s'];
  const text = await runGit(repository, ['log', ...options, `${from}..${to}`, '--']);
  return text.split('\n').flatMap((line) => {
    const [oid = '', seconds = '', ...subject] = line.split('\t');
    const isNew = oid !== '' && Number(seconds) * 1_000 >= after - 1_000; // git counts whole seconds
    return isNew ? [{ oid: oid as Oid, subject: subject.join('\t') }] : []; // git's own id
  });
}
