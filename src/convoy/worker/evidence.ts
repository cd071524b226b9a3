import { readLastWords } from '../../agents/transcript/last-words.ts';
import type { Orch } from '../../orch.ts';
import { logPath } from '../../session/output-log.ts';
import { readFrom, statIfThere } from '../../system/disk.ts';
import { cleanLine } from '../../text.ts';
import type { EpicId, Millis, SessionId } from '../../types.ts';
import { findWorkerTranscript } from './worker.ts';

/** What can be seen of a worker from outside. */
export type Evidence = {
  /** What it said or did last; null if it has shown nothing yet. */
  readonly doing: string | null;
  readonly at: Millis | null;
};

/** Reads what a worker did last: from its conversation if its agent keeps one, else from what it printed. */
export async function readEvidence(
  orch: Orch,
  epic: EpicId,
  { session, worktree }: { readonly session: SessionId | null; readonly worktree: string | null },
): Promise<Evidence> {
  const transcript = worktree === null ? null : await findWorkerTranscript(orch, epic, worktree);
  const words = transcript === null ? null : readLastWords(transcript);
  const log = session === null ? null : readLastLine(logPath(orch.home, session));
  if (words !== null && transcript !== null) {
    const at = words.at ?? statIfThere(transcript)?.mtimeMs ?? null;
    return { doing: await orch.redact(words.text), at };
  }
  return log ?? { doing: null, at: null };
}

const tail = 16 * 1024;

function readLastLine(path: string): Evidence | null {
  const found = statIfThere(path);
  if (found === null || found.size === 0) return null;
  const read = readFrom(path, Math.max(0, found.size - tail), tail);
  const lines = (read?.bytes.toString('utf8') ?? '').trimEnd().split('\n');
  return { doing: cleanLine(lines.at(-1) ?? '', 200), at: found.mtimeMs };
}
