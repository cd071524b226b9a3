import { hasCode } from '../../errors.ts';
import type { GitEngine } from '../../git/engine.ts';
import { hashObject } from '../../git/objects.ts';
import { listPath } from '../../git/read.ts';
import type { Oid } from '../../types.ts';
import { parseMessage } from '../message.ts';
import type { Saved } from '../read.ts';
import { briefName, epicFolder } from '../tree.ts';
import { generateResumeBrief } from './brief.ts';

/** What is wrong with the brief beside a document. */
export type BriefFault =
  /** `remade` is the very object, made again from the document; null where it would be another. */
  | { readonly kind: 'damaged'; readonly oid: Oid; readonly problem: string; readonly remade: Buffer | null }
  /** It can be read, and says something else than the state: another orch wrote it, or somebody changed it. */
  | { readonly kind: 'different'; readonly oid: Oid };

/**
 * Looks whether the brief that people read with git is there; and, where `content` is asked for too, whether it is what
 * the document's state gives, which takes longer than to read it.
 */
export async function findBriefFault(
  git: GitEngine,
  { commit, document }: Saved,
  content = false,
): Promise<BriefFault | null> {
  const { epicId } = document;
  const entries = (await listPath(git, commit.tree, epicFolder(epicId))) ?? [];
  const oid = entries.find(({ name }) => name === briefName)?.oid;
  if (oid === undefined) return null;
  const gates = parseMessage(commit.message)?.gates ?? 'unknown';
  const input = { epicId, state: document.state, checkpoint: { ...document, gates } };
  const isSame = (bytes: Buffer) => hashObject({ kind: 'blob', bytes }, git.format) === oid;
  try {
    await git.readObject(oid);
    if (!content || isSame(Buffer.from(generateResumeBrief(input).markdown))) return null;
    return { kind: 'different', oid };
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    const bytes = Buffer.from(generateResumeBrief(input).markdown);
    return { kind: 'damaged', oid, problem: error.message, remade: isSame(bytes) ? bytes : null };
  }
}
