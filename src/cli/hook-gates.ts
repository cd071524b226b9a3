import type { HookCall } from '../integration/agent-event.ts';
import { type Orch, openOrch } from '../orch.ts';
import { findTurnSession, runTurnGates } from '../session/turn-gates.ts';
import { onSignals } from '../system/signals.ts';
import { inheritedEnvironment, startDetached } from '../system/spawn.ts';
import { readSettings } from './environment.ts';

/** A turn is over: has the gates say what came of it, where there are any to run, and does not wait for them. */
export async function startGates(orch: Orch, call: HookCall, isTrusted: boolean): Promise<void> {
  const session = await findTurnSession(orch, call, isTrusted);
  const { worktree } = orch.repository;
  if (session === null || worktree === null) return;
  // Should it be killed, what it leaves behind is found by the session's name.
  const env = { ...inheritedEnvironment(), ORCH_SESSION: session };
  startDetached(process.execPath, [process.argv[1] ?? '', 'hook', 'gates'], worktree, env);
}

/** `hook gates`: what the hook starts when a turn is over. Nobody reads what it prints, so it prints nothing. */
export async function run(): Promise<number> {
  const stop = new AbortController();
  onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], () => stop.abort());
  let orch: Orch | null = null;
  try {
    const settings = readSettings(process.env);
    if (settings.session === undefined) return 0;
    orch = await openOrch({ ...settings, cwd: process.cwd() });
    await runTurnGates(orch, settings.session, settings.trusted, stop.signal);
  } catch (error) {
    orch?.report(`the gates after a turn: ${error instanceof Error ? error.message : error}`);
  } finally {
    orch?.close();
  }
  return 0;
}
