import type { Orch } from '../orch.ts';
import { type OutputLog, openOutputLog } from '../session/output-log.ts';
import type { SessionId } from '../types.ts';
import { logPath } from './background.ts';

/** What a session in the background says, and what its command prints. */
export type SessionLog = OutputLog;

export function openSessionLog(orch: Orch, session: SessionId): SessionLog {
  return openOutputLog(orch, logPath(orch.home, session));
}
