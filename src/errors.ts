/** Every way orch can fail, with the exit status that scripts rely on. */
export const exitStatuses = {
  SESSION_NOT_FOUND: 1,
  EPIC_NOT_FOUND: 1,
  CHECKPOINT_NOT_FOUND: 1,
  REPOSITORY_UNSUPPORTED: 1,
  GIT_FAILED: 1,
  WRITE_FAILED: 1,
  DOCTOR_FAILED: 1,
  BISECT_FAILED: 1,
  SYSTEM_LIMIT: 1,
  REMOTE_UNREACHABLE: 1,
  REMOTE_NOT_FOUND: 1,
  REMOTE_REFUSED: 1,
  SNAPSHOT_FAILED: 1,
  USAGE: 2,
  CONFIG_INVALID: 2,
  PLAN_INVALID: 2,
  EPIC_ID_INVALID: 2,
  SESSION_AMBIGUOUS: 2,
  CHECKPOINT_AMBIGUOUS: 2,
  BUDGET_REFUSED: 2,
  NOT_A_REPOSITORY: 2,
  IMPORT_INVALID: 2,
  GATE_FAILED: 3,
  TASK_FAILED: 3,
  IMPORT_INCOMPLETE: 3,
  BUDGET_EXCEEDED: 4,
  SESSION_ACTIVE: 5,
  REF_CONFLICT: 5,
  INTEGRITY: 6,
  FORMAT_UNSUPPORTED: 6,
  INTERNAL: 70,
  RESUME_NEEDED: 75,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof exitStatuses;

type ErrorDetails = {
  /** What to do next; safe to follow blindly. */
  hint?: string;
  data?: Record<string, unknown>;
  cause?: unknown;
};

/** The only error orch throws on purpose. */
export class OrchError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | null;
  readonly data: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, { hint, data, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OrchError';
    this.code = code;
    this.hint = hint ?? null;
    this.data = data ?? {};
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Recognizes our errors by name, because each bundle has its own copy of the class. */
export function isOrchError(error: unknown): error is OrchError {
  return error instanceof Error && error.name === 'OrchError';
}

export function hasCode(error: unknown, ...codes: ErrorCode[]): error is OrchError {
  return isOrchError(error) && codes.includes(error.code);
}

/** Makes a handler for `catch` that turns errors with one of these codes into null. */
export function nullFor(...codes: ErrorCode[]): (error: unknown) => null {
  return (error) => {
    if (!hasCode(error, ...codes)) throw error;
    return null;
  };
}

/** The code of a failed system call (`ENOENT`), or null for any other error. */
export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

const openFilesHint = 'Allow more with: ulimit -n 1024. Then run the same command again.';
const memoryHint = 'Close other programs, then run the same command again.';

/** Why the system refused when it, or this process, ran out of something. */
const limitReasons: { readonly [code: string]: [reason: string, hint: string] } = {
  EMFILE: ['too many files are open in this process', openFilesHint],
  ENFILE: ['too many files are open on this machine', memoryHint],
  EAGAIN: ['no more processes can be started', memoryHint],
  ENOMEM: ['out of memory', memoryHint],
  ENOBUFS: ['out of memory', memoryHint],
};

/** The error for work that hit a system limit; null for any other error. */
export function limitReached(what: string, error: unknown): OrchError | null {
  const code = systemCode(error) ?? '';
  const [reason, hint] = limitReasons[code] ?? [];
  if (reason === undefined || hint === undefined) return null;
  return new OrchError('SYSTEM_LIMIT', `${what}: ${reason}`, { hint, data: { code }, cause: error });
}

/** Turns a failed write into an error the user can act on: a full disk and a read-only folder need different hints. */
export function writeFailed(what: string, error: unknown): OrchError {
  if (isOrchError(error)) return error;
  const code = systemCode(error);
  const reasons: Record<string, [reason: string, hint: string]> = {
    ENOSPC: ['the disk is full', 'Free some space, then run the same command again.'],
    EDQUOT: ['the disk quota is used up', 'Free some space, then run the same command again.'],
    EROFS: ['the file system is read-only', 'Run it in a copy of the repository that you can write to.'],
    EACCES: ['permission denied', 'Run it as the user who owns the repository.'],
    EPERM: ['permission denied', 'Run it as the user who owns the repository.'],
    ...limitReasons,
  };
  const detail = messageOf(error);
  const [reason, hint] = (code && reasons[code]) || [detail, 'Run the same command again.'];
  return new OrchError('WRITE_FAILED', `${what}: ${reason}`, { hint, data: { code }, cause: error });
}

/** Runs `work` and explains a refused write in the user's words. */
export async function explainWrites<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw systemCode(error) ? writeFailed(what, error) : error;
  }
}

/**
 * The error for something that was written in full, and counts, but that the disk did not confirm. A retry would count
 * it twice, so the hint never suggests one.
 */
export function unconfirmedWrite(what: string, error: unknown): OrchError {
  const detail = messageOf(error);
  return new OrchError(
    'WRITE_FAILED',
    `${what} is recorded, but the disk did not confirm it (${detail}); a power failure could still lose it`,
    {
      hint: 'It counts already, so do not record it again. Check the disk.',
      data: { code: systemCode(error), recorded: true },
      cause: error,
    },
  );
}

/** The error for a checkpoint that failed after its facts were recorded: only the checkpoint must be made again. */
export function recordedWithoutCheckpoint(error: unknown, epic: string): unknown {
  if (!isOrchError(error)) return error;
  const { code, message, data, hint } = error;
  const isFull = data.code === 'ENOSPC' || data.code === 'EDQUOT';
  const makeIt = `The record counts, so do not repeat it. ${isFull ? 'Free some space, then make' : 'Make'} the checkpoint with: orch checkpoint create -e ${epic}`;
  return new OrchError(code, `recorded, but the checkpoint could not be made: ${message}`, {
    // Another checkpoint would fail on the same damage: the original hint helps.
    hint: (code === 'INTEGRITY' ? hint : null) ?? makeIt,
    data: { ...data, recorded: true },
    cause: error,
  });
}
