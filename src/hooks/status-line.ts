import type { StatusCall } from '../agents/calls/status-call.ts';
import { readThen } from '../agents/orch-command.ts';
import { describeCommit } from '../checkpoint/list.ts';
import type { Budget } from '../cost/budget.ts';
import { type ContextWindow, measureContext } from '../cost/context-window.ts';
import { spentBy } from '../cost/money.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { hasBegun } from '../record/begin.ts';
import { record } from '../record/record.ts';
import { readView } from '../record/view.ts';
import { type AgentLink, findLink } from '../session/agent/agent-link.ts';
import { describeMoney } from '../session/epic-status.ts';
import { loadRunningSession } from '../session/find-session.ts';
import type { EpicId, GateColour, Micros, Millis } from '../types.ts';
import { describeProblem } from './faults.ts';
import { knownContext } from './read-agent.ts';

/** What a status line shows of the session an agent works in. */
export type StatusLine = {
  readonly epic: EpicId;
  /** The session's number; null if nothing has happened in it yet. */
  readonly number: number | null;
  /** What the session has cost. */
  readonly session: Micros;
  readonly budget: Budget;
  readonly gates: GateColour;
  /** How full the agent's context window is, 0 to 100; null if that is unknown. */
  readonly percent: number | null;
  /** How long ago the last checkpoint was made; null if there is none. */
  readonly age: Millis | null;
};

/**
 * Reads the status line of an agent's session; null if the agent has none. `record` keeps what the call reported: call
 * it after the line is shown.
 */
export async function readStatusLine(
  orch: Orch,
  call: StatusCall,
): Promise<{ readonly line: StatusLine; record(): Promise<void> } | null> {
  const link = findLink(orch.home, call.agentSession);
  if (link === null) return null;
  const { state, saved } = await readView(orch, link.epic);
  const known = knownContext(state, link);
  const context = await findContext(orch, call, known);
  const uncounted = findUncounted(link, call);
  const line = {
    epic: link.epic,
    number: lookUp(state.sessions, link.session)?.value.number ?? null,
    session: spentBy(state.ledger, link.session) + uncounted,
    budget: describeMoney(state, uncounted),
    gates: saved ? (describeCommit(saved.commit)?.gates ?? 'unknown') : 'unknown',
    percent: call.usedPercent ?? (context && context.fill * 100),
    age: saved ? Math.max(0, orch.clock.now() - saved.commit.authoredAt) : null,
  };
  return {
    line,
    async record() {
      await recordContext(orch, link, known, context);
      if (hasNewCost(link, call))
        await (await import('./reported-cost.ts')).recordReportedCost(orch, link, call);
    },
  };
}

async function findContext(
  orch: Orch,
  { context, agentSession }: StatusCall,
  known: ContextWindow | null,
): Promise<ContextWindow | null> {
  if (context === null) return known?.agentSession === agentSession ? known : null;
  // The hooks report an invalid config; here the report would repeat many times a minute.
  const configured = await orch.readConfig().then(
    (config) => config.context.window,
    () => 'auto' as const,
  );
  return measureContext(context, agentSession, configured, known);
}

/** What the agent says it has spent beyond what is counted: its files lag behind. */
function findUncounted({ figure }: AgentLink, { cost, agentSession }: StatusCall): Micros {
  return cost !== null && figure?.agentSession === agentSession ? Math.max(0, cost - figure.last) : 0;
}

function hasNewCost({ figure }: AgentLink, { cost, agentSession }: StatusCall): boolean {
  return cost !== null && (figure?.agentSession !== agentSession || figure.last !== cost);
}

/** Records the context window only if its tier or size has changed: a status line is made many times a minute. */
async function recordContext(
  orch: Orch,
  link: AgentLink,
  known: ContextWindow | null,
  context: ContextWindow | null,
): Promise<void> {
  const isKnown = known !== null && known.tier === context?.tier && known.window === context.window;
  if (context === null || isKnown || !hasBegun(orch, link.session)) return;
  const fact = { kind: 'current_set', key: 'contextWindow', value: context } as const;
  await record(orch, await loadRunningSession(orch, link), [fact]);
}

/** Reports what went wrong with a status line, with its stack if it is a bug. */
export function reportStatusLine(orch: Orch, error: unknown): void {
  orch.report(`statusline: ${describeProblem(error)}`);
}

/** How long the user's own status line may take. */
const ownTimeout: Millis = 900;

/** Runs the status line the user had before orch and returns what it prints; empty if they had none. */
export async function runOwnLine(
  argv: readonly string[],
  call: { readonly input: string; readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  // Most users have no line of their own, and the JSON parser need not be loaded for them.
  if (readThen(argv) === null) return '';
  const { readChainedStatusLine } = await import('../agents/claude/claude-settings.ts');
  const chained = readChainedStatusLine(argv);
  if (chained === null) return '';
  const { runFilter } = await import('../system/process/filter.ts');
  return runFilter({ line: chained.command, ...call, timeout: ownTimeout });
}
