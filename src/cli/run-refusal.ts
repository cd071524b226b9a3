import { hasCode, isOrchError, OrchError } from '../errors.ts';

/**
 * Why a run did not begin, with the hint that helps a run: by itself a session would be resumed without its plan, and
 * a task that ended the session it is in the way of would end the run it belongs to.
 */
export function explainRefusal(error: unknown, ownSession: string | undefined): unknown {
  if (hasCode(error, 'BUDGET_EXCEEDED'))
    return withHint(error, 'Give it more: the same command with --budget +10');
  if (hasCode(error, 'SESSION_ACTIVE') && ownSession !== undefined && error.data.sessionId === ownSession)
    return withHint(error, 'This call is a part of it. Give its run an epic of its own with --epic');
  return error;
}

/**
 * Why a run broke off that had begun, or could not be ended. The same command again might begin another run, and do
 * once more what this one did.
 */
export function explainBreak(error: unknown, goOn: string): unknown {
  return isOrchError(error) ? withHint(error, `What is done is kept. Fix it, then resume: ${goOn}`) : error;
}

function withHint({ code, message, data, cause }: OrchError, hint: string): OrchError {
  return new OrchError(code, message, { hint, data, cause });
}
