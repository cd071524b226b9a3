import { readFileSync } from 'node:fs';
import { isOrchError } from '../errors.ts';
import type { HookCall } from '../integration/agent-event.ts';
import { parseHookCall } from '../integration/hook-call.ts';
import { type Orch, openOrch } from '../orch.ts';
import { handleAgent } from '../session/agent.ts';
import type { AgentAnswer } from '../session/agent-call.ts';
import { readSettings } from './environment.ts';
import { writeTo } from './output.ts';

/* What agents call at every turn. Whatever goes wrong here, the agent is not disturbed: the fault is kept for `status`. */

/** `hook claude|codex`: takes what the agent says on stdin, and answers in its own words. */
export async function run(argv: readonly string[], text: string = readFileSync(0, 'utf8')): Promise<number> {
  const [, agent = ''] = argv;
  let orch: Orch | null = null;
  try {
    const call = parseHookCall(agent === 'codex' ? 'codex' : 'claude', text);
    if (call === null) return 0;
    const settings = readSettings(process.env);
    orch = await openOrch({ ...settings, cwd: call.cwd ?? process.cwd() });
    const agentPid = Number(process.env.CLAUDE_PID) || process.ppid;
    const { session, epic } = settings;
    const said = format(call, await handleAgent(orch, call, { session, epic, agentPid }));
    if (said !== null) writeTo(1, `${JSON.stringify(said)}\n`);
  } catch (error) {
    keepFault(orch, agent, error);
  } finally {
    orch?.close();
  }
  return 0;
}

/** Outside of a repository there is nothing to do, and nowhere to say so. */
function keepFault(orch: Orch | null, agent: string, error: unknown): void {
  if (orch === null) return;
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error && !isOrchError(error) ? `\n${error.stack}` : '';
  orch.report(`hook ${agent}: ${message}${stack}`);
}

/** The answer in the agent's own words; null where there is nothing to say. */
function format({ agent, event }: HookCall, { context, message, halt }: AgentAnswer): object | null {
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
