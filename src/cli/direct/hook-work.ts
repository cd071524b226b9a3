import {
  catchSignals,
  type HookCall,
  handleHook,
  keepHookProblem,
  type Orch,
  openOrch,
  runTurnGates,
  startTurnGates,
} from '../../index.ts';
import { readSettings } from '../environment.ts';
import { writeTo } from '../output.ts';

/** Handles an agent's event and answers it. No failure may disturb the agent: problems are kept for `orch status`. */
export async function answerHook(call: HookCall): Promise<number> {
  const { env } = process;
  const isClaude = call.agent === 'claude';
  // Claude Code's current folder is where its last command went, which may be anywhere.
  const beganIn = isClaude ? env.CLAUDE_PROJECT_DIR || undefined : undefined;
  const folders = { cwd: call.cwd ?? process.cwd(), beganIn };
  const conversation = env.CLAUDE_CODE_SESSION_ID;
  let orch: Orch | null = null;
  try {
    const settings = readSettings(env);
    orch = await openOrch({ ...settings, ...folders });
    await handleHook(orch, call, {
      session: settings.session,
      epic: settings.epic,
      // Claude Code sets CLAUDE_PID for everything it runs, even Codex, and there it is not the agent's own pid.
      agentPid: isClaude ? Number(env.CLAUDE_PID) || null : null,
      conversation,
      isAside: env.ORCH_ASIDE === '1',
      isTrusted: settings.trusted,
      answer: (reply) => writeTo(1, `${JSON.stringify(reply)}\n`),
      // ORCH_SESSION lets orch find the processes that this one leaves behind if it is killed.
      startGates: (session, worktree) =>
        startTurnGates([process.execPath, process.argv[1] ?? '', 'hook', 'gates'], worktree, {
          ORCH_SESSION: session,
        }),
    });
  } catch (error) {
    // With an invalid setting nothing is open yet, but the problem must still be kept.
    orch ??= await openOrch(folders).catch(() => null);
    if (orch !== null) await keepHookProblem(orch, call, { conversation }, error);
  } finally {
    orch?.close();
  }
  return 0;
}

/** `hook gates`: started by the hook at the end of a turn. It prints nothing, because nothing reads its output. */
export async function runGates(): Promise<number> {
  const { aborted } = catchSignals();
  let orch: Orch | null = null;
  try {
    const settings = readSettings(process.env);
    if (settings.session === undefined) return 0;
    orch = await openOrch({ ...settings, cwd: process.cwd() });
    await runTurnGates(orch, settings.session, settings.trusted, aborted);
  } catch (error) {
    orch?.report(`the gates after a turn: ${error instanceof Error ? error.message : error}`);
  } finally {
    orch?.close();
  }
  return 0;
}
