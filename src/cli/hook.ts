import { readFileSync } from 'node:fs';
import { isOrchError } from '../errors.ts';
import type { HookCall } from '../integration/agent-event.ts';
import { parseHookCall } from '../integration/hook-call.ts';
import { type Orch, openOrch } from '../orch.ts';
import { handleAgent, linkOf } from '../session/agent.ts';
import type { AgentAnswer } from '../session/agent-call.ts';
import { settleCalm } from '../session/agent-calm.ts';
import { forgetCalm, keepUnsaid, readCalmName, takeUnsaid, wakeAgent } from '../session/calm-files.ts';
import { forgetHookFaults, keepHookFault } from '../session/hook-faults.ts';
import { findCaller } from '../system/process.ts';
import type { SessionId } from '../types.ts';
import { readSettings } from './environment.ts';
import { writeTo } from './output.ts';

/* What agents call at every turn. Whatever goes wrong here, the agent is not disturbed: the fault is kept for `status`. */

/** `hook claude|codex`: takes what the agent says on stdin, and answers in its own words. */
export async function run(argv: readonly string[], text: string = readFileSync(0, 'utf8')): Promise<number> {
  const call = parseHookCall(argv[1] === 'codex' ? 'codex' : 'claude', text);
  if (call === null) return 0;
  // Claude Code is where its last command went, which may be anywhere.
  const beganIn = call.agent === 'claude' ? process.env.CLAUDE_PROJECT_DIR || undefined : undefined;
  const place = { cwd: call.cwd ?? process.cwd(), beganIn };
  const name = call.agent === 'claude' ? readCalmName(process.env.CLAUDE_CODE_SESSION_ID) : null;
  const isAside = process.env.ORCH_ASIDE === '1';
  let orch: Orch | null = null;
  try {
    const settings = readSettings(process.env);
    orch = await openOrch({ ...settings, ...place });
    // Claude Code tells it to all that it runs, a Codex as well: there it is not the agent's.
    const agentPid = (call.agent === 'claude' && Number(process.env.CLAUDE_PID)) || findCaller();
    const { session, epic } = settings;
    const answer = await handleAgent(orch, isAside ? lookOnly(call) : call, { session, epic, agentPid });
    if (name === null) say(call, answer);
    else await settle(orch, call, answer, { name, isAside, session });
    // Under a supervisor hooks only record: it stops the agent itself.
    if (session === undefined) await followUp(orch, call, answer, { agentPid, isTrusted: settings.trusted });
    await forgetHookFaults(orch, kindOf(call));
  } catch (error) {
    // Where a setting is wrong, nothing was opened yet; that the setting is wrong is kept all the same.
    orch ??= await openOrch(place).catch(() => null);
    if (orch !== null) await keepFault(orch, call, name, error);
  } finally {
    orch?.close();
  }
  return 0;
}

/** Beside an agent only what there is to see is recorded: it may have ended meanwhile, and begins nothing. */
function lookOnly(call: HookCall): HookCall {
  return { ...call, event: { kind: 'before_tool', mark: null } };
}

/** What is to be done once the agent has its answer. */
async function followUp(
  orch: Orch,
  call: HookCall,
  { halt }: AgentAnswer,
  { agentPid, isTrusted }: { readonly agentPid: number; readonly isTrusted: boolean },
): Promise<void> {
  if (halt !== null && call.agent === 'codex')
    await (await import('./hook-halt.ts')).haltTurn(orch, call, { pid: agentPid, reason: halt });
  if (halt === null && call.event.kind === 'stop')
    await (await import('./hook-gates.ts')).startGates(orch, call, isTrusted);
}

function say(call: HookCall, answer: AgentAnswer): void {
  const said = format(call, answer);
  if (said !== null) writeTo(1, `${JSON.stringify(said)}\n`);
}

/** Answers, and decides whether the agent's next calls have to be looked at. Beside the agent nothing can be said. */
async function settle(
  orch: Orch,
  call: HookCall,
  answer: AgentAnswer,
  { name, isAside, session }: { name: string; isAside: boolean; session: SessionId | undefined },
): Promise<void> {
  if (isAside) {
    if (answer.message !== null) await keepUnsaid(orch, name, answer.message);
  } else {
    const messages = [takeUnsaid(orch, name), answer.message].filter((message) => message !== null);
    say(call, { ...answer, message: messages.join(' ') || null });
  }
  if (call.event.kind === 'end') forgetCalm(orch, name);
  else await settleCalm(orch, linkOf(orch, call, { session }), name);
}

function kindOf({ agent, event }: HookCall) {
  return { agent, event: event.kind };
}

/** In the log with all there is to know, and where `status` finds it. The next call is looked at again. */
async function keepFault(orch: Orch, call: HookCall, name: string | null, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error && !isOrchError(error) ? `\n${error.stack}` : '';
  orch.report(`hook ${call.agent}, ${call.event.kind}: ${message}${stack}`);
  await tryAlone(orch, 'the fault could not be kept for status', () =>
    keepHookFault(orch, kindOf(call), message),
  );
  await tryAlone(orch, 'the next calls may pass without a look', async () => wakeAgent(orch, name));
}

/** What fails after a fault is reported, and no more. */
async function tryAlone(orch: Orch, problem: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    orch.report(`${problem}: ${error}`);
  }
}

/** The answer in the agent's own words; null where there is nothing to say. */
function format({ agent, event }: HookCall, { context, message, halt }: AgentAnswer): object | null {
  // Claude Code takes what is printed then as instructions for its compaction, and shows it to the user as it is.
  if (event.kind === 'before_compact' || event.kind === 'after_compact') return null;
  const name = eventNames[event.kind];
  const said = {
    ...(message !== null && { systemMessage: message }),
    ...(context !== null &&
      name && { hookSpecificOutput: { hookEventName: name, additionalContext: context } }),
    ...(halt !== null && formatHalt(agent, event.kind, halt)),
  };
  return Object.keys(said).length === 0 ? null : said;
}

const eventNames: { readonly [K in HookCall['event']['kind']]?: string } = {
  start: 'SessionStart',
  prompt: 'UserPromptSubmit',
};

function formatHalt(agent: HookCall['agent'], kind: HookCall['event']['kind'], reason: string): object {
  if (kind === 'prompt') return { decision: 'block', reason };
  if (kind === 'before_tool')
    return {
      // Denied alone, Claude Code would ask its model what to do instead, and be billed for it. Codex knows no more.
      ...(agent === 'claude' && { continue: false, stopReason: reason }),
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: reason,
      },
    };
  return { continue: false, stopReason: reason };
}
