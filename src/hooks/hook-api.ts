import type { HookCall } from '../agents/calls/hook-call.ts';
import type { Orch } from '../orch.ts';
import {
  checkNextCall,
  forgetCallChecks,
  keepMessage,
  readConversationName,
  takeKeptMessage,
} from '../record/call-checks.ts';
import { findCaller, userFolders } from '../system/process/identity.ts';
import { inheritedEnvironment, startDetached } from '../system/process/spawn.ts';
import type { SessionId } from '../types.ts';
import type { AgentAnswer } from './agent-ports.ts';
import { addHookFault, clearHookFaults, describeProblem } from './faults.ts';
import { findCallLink, handleAgent } from './handle-hook.ts';
import { decideSkippedChecks } from './skip-checks.ts';

/** Where a hook was called. */
export type HookPlace = {
  /** The session of the supervisor that started the agent: it stops the agent itself, and hooks only record. */
  readonly session: SessionId | undefined;
  readonly epic: string | undefined;
  /** The agent's process; null if it is the caller of this process. */
  readonly agentPid: number | null;
  /** Claude Code's name for its conversation, from the hook's environment. */
  readonly conversation: string | undefined;
  /** Does the hook run in the background, so that the agent does not wait for an answer? */
  readonly isAside: boolean;
  /** May gates run without approval? */
  readonly isTrusted: boolean;
  /** Prints an answer in the agent's own format. */
  readonly answer: (said: object) => void;
  /** Starts a process that runs the gates of a session after its turn. */
  readonly startGates: (session: SessionId, worktree: string) => void;
};

/** Records what an agent reports through a hook, answers it, stops it over budget, and starts gates after a turn. */
export async function handleHook(orch: Orch, call: HookCall, place: HookPlace): Promise<void> {
  const { session, isAside, isTrusted } = place;
  const name = nameConversation(call, place);
  const agentPid = place.agentPid ?? findCaller();
  const answer = await handleAgent(orch, isAside ? asCheckOnly(call) : call, { ...place, agentPid });
  if (name === null) printAnswer(call, answer, place);
  else await answerClaude(orch, call, answer, name, place);
  if (session === undefined) {
    if (answer.halt !== null && call.agent === 'codex')
      await haltCodexTurn(orch, call, agentPid, answer.halt);
    if (answer.halt === null && call.event.kind === 'stop') {
      const { findTurnSession } = await import('./gates-after-turn.ts');
      const due = await findTurnSession(orch, call, isTrusted);
      const { worktree } = orch.repository;
      if (due !== null && worktree !== null) place.startGates(due, worktree);
    }
  }
  await clearHookFaults(orch, kindOf(call));
}

/** Starts the process that runs the gates after a turn, and does not wait for it. */
export function startTurnGates(
  [program = '', ...args]: readonly string[],
  worktree: string,
  environment: { readonly [name: string]: string },
): void {
  startDetached(program, args, worktree, { ...inheritedEnvironment(), ...environment });
}

/** Keeps what went wrong in a hook, in the log and for `orch status`, and has the agent's next call checked. */
export async function keepHookProblem(
  orch: Orch,
  call: HookCall,
  place: Pick<HookPlace, 'conversation'>,
  error: unknown,
): Promise<void> {
  orch.report(`hook ${call.agent}, ${call.event.kind}: ${describeProblem(error)}`);
  await reportOnly(orch, 'the fault could not be kept for status', () =>
    addHookFault(orch, kindOf(call), error instanceof Error ? error.message : String(error)),
  );
  await reportOnly(orch, 'the next tool calls may run unchecked', async () =>
    checkNextCall(orch, nameConversation(call, place)),
  );
}

/** Claude Code's name for the conversation, under which skipped checks are counted; other agents skip none. */
function nameConversation(
  { agent }: HookCall,
  { conversation }: Pick<HookPlace, 'conversation'>,
): string | null {
  return agent === 'claude' ? readConversationName(conversation) : null;
}

/** In the background a hook only records what has happened: the agent may have ended, so nothing new begins. */
function asCheckOnly(call: HookCall): HookCall {
  return { ...call, event: { kind: 'before_tool', mark: null } };
}

function kindOf({ agent, event }: HookCall) {
  return { agent, event: event.kind };
}

async function reportOnly(orch: Orch, problem: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    orch.report(`${problem}: ${error}`);
  }
}

/** Answers, or keeps the message for the next call where no answer is read, and decides which calls to check next. */
async function answerClaude(
  orch: Orch,
  call: HookCall,
  answer: AgentAnswer,
  name: string,
  place: HookPlace,
): Promise<void> {
  if (place.isAside) {
    if (answer.message !== null) await keepMessage(orch, name, answer.message);
  } else {
    const messages = [takeKeptMessage(orch, name), answer.message].filter((message) => message !== null);
    printAnswer(call, { ...answer, message: messages.join(' ') || null }, place);
  }
  if (call.event.kind === 'end') forgetCallChecks(orch, name);
  else await decideSkippedChecks(orch, findCallLink(orch, call, place), name);
}

function printAnswer(call: HookCall, answer: AgentAnswer, place: HookPlace): void {
  const output = formatAnswer(call, answer);
  if (output !== null) place.answer(output);
}

/** The answer in the agent's own format; null if it is empty. */
function formatAnswer({ agent, event }: HookCall, { context, message, halt }: AgentAnswer): object | null {
  // Around a compaction, Claude Code takes the output as instructions for it, and shows it to the user unformatted.
  if (event.kind === 'before_compact' || event.kind === 'after_compact') return null;
  const name = eventNames[event.kind];
  const output = {
    ...(message !== null && { systemMessage: message }),
    ...(context !== null &&
      name && { hookSpecificOutput: { hookEventName: name, additionalContext: context } }),
    ...(halt !== null && formatHalt(agent, event.kind, halt)),
  };
  return Object.keys(output).length === 0 ? null : output;
}

const eventNames: { readonly [K in HookCall['event']['kind']]?: string } = {
  start: 'SessionStart',
  prompt: 'UserPromptSubmit',
  tool: 'PostToolUse',
};

function formatHalt(agent: HookCall['agent'], kind: HookCall['event']['kind'], reason: string): object {
  if (kind === 'prompt') return { decision: 'block', reason };
  if (kind === 'before_tool')
    return {
      // After a mere denial Claude Code would ask its model what to do instead, which costs more. Codex only knows denials.
      ...(agent === 'claude' && { continue: false, stopReason: reason }),
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: reason,
      },
    };
  return { continue: false, stopReason: reason };
}

/** Ends the turn of a Codex that must stop, as its answer alone does not. Everything is saved by then. */
async function haltCodexTurn(
  orch: Orch,
  { agentSession: thread, turn, event }: HookCall,
  pid: number,
  reason: string,
): Promise<void> {
  if (event.kind !== 'before_tool' && event.kind !== 'tool') return;
  const { haltCodex } = await import('../agents/codex/codex-halt.ts');
  // Codex ends its hooks together with its turn, so report first.
  orch.report(`ending the turn of codex (conversation ${thread}). ${reason}`);
  const how = await haltCodex({ pid, codexHome: userFolders().codexHome, thread, turn });
  if (how === null) orch.report(`codex (conversation ${thread}) could not be stopped: its tools are denied`);
}
