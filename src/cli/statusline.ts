import { readFileSync } from 'node:fs';
import { describeCommit } from '../checkpoint/list.ts';
import { isOrchError } from '../errors.ts';
import { readChainedStatusLine } from '../integration/claude-settings.ts';
import { parseStatusCall, type StatusCall } from '../integration/status-call.ts';
import { type Orch, openOrch } from '../orch.ts';
import { type AgentStatus, readAgentStatus, recordContext, tellsCost } from '../session/agent-status.ts';
import { costOf } from '../session/fate.ts';
import { describeMoney } from '../session/status.ts';
import type { Millis } from '../types.ts';
import { readSettings } from './environment.ts';
import { writeTo } from './output.ts';
import { type StatusLine, showStatusLine } from './statusline-view.ts';

/* Called many times a minute. Whatever goes wrong here, the user's own line is shown and the agent is not disturbed. */

/** How long the user's own status line may take. */
const chainTimeout: Millis = 900;

/** `statusline`: prints one line about the session of the agent that tells of itself on stdin. */
export async function run(argv: readonly string[]): Promise<number> {
  const input = readInput();
  const theirs = runTheirs(argv, input);
  const call = parseStatusCall(input);
  const ours = call === null ? null : await look(call);
  const lines = [(await theirs).replace(/\n+$/, ''), ours?.line ?? ''].filter((line) => line !== '');
  if (lines.length > 0) writeTo(1, `${lines.join('\n')}\n`);
  await ours?.finish();
  return 0;
}

function readInput(): string {
  try {
    return readFileSync(0, 'utf8');
  } catch {
    return ''; // there is no stdin: nobody to tell anything about
  }
}

/** What the user's own status line prints, where they had one before orch. */
async function runTheirs(argv: readonly string[], input: string): Promise<string> {
  try {
    const chained = readChainedStatusLine(argv);
    if (chained === null) return '';
    const { runFilter } = await import('../system/filter.ts');
    const { command: line } = chained;
    return await runFilter({ line, input, cwd: process.cwd(), env: process.env, timeout: chainTimeout });
  } catch {
    return ''; // a folder that is gone: then there is nothing to show of theirs
  }
}

type Ours = { readonly line: string; finish(): Promise<void> };

/** Our own line, and what is to be done once it is shown. */
async function look(call: StatusCall): Promise<Ours | null> {
  let orch: Orch | null = null;
  try {
    const place = { cwd: call.cwd ?? process.cwd(), beganIn: call.project ?? undefined };
    const opened = await openOrch({ ...readSettings(process.env), ...place });
    orch = opened;
    const status = await readAgentStatus(opened, call);
    if (status === null) {
      opened.close();
      return null;
    }
    const finish = async () => {
      try {
        await recordContext(opened, status);
        if (tellsCost(status, call))
          await (await import('../session/agent-figure.ts')).recordFigure(opened, status, call);
      } catch (error) {
        keepFault(opened, error);
      } finally {
        opened.close();
      }
    };
    return { line: describe(opened, status, call), finish };
  } catch (error) {
    keepFault(orch, error);
    orch?.close();
    return null;
  }
}

function describe(
  orch: Orch,
  { link, view, number, context, uncounted }: AgentStatus,
  call: StatusCall,
): string {
  const savedAt = view.saved?.commit.authoredAt ?? null;
  const columns = Number(process.env.COLUMNS) || 80;
  const { epic, session } = link;
  const { state, saved } = view;
  const line: StatusLine = {
    epic,
    number,
    session: costOf(state, session) + uncounted,
    budget: describeMoney(state, uncounted),
    gates: saved ? (describeCommit(saved.commit)?.gates ?? 'unknown') : 'unknown',
    percent: call.usedPercent ?? (context && context.fill * 100),
    age: savedAt === null ? null : Math.max(0, orch.clock.now() - savedAt),
  };
  return showStatusLine(line, columns);
}

/** Outside of a repository there is nothing to do, and nowhere to say so. */
function keepFault(orch: Orch | null, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error && !isOrchError(error) ? `\n${error.stack}` : '';
  orch?.report(`statusline: ${message}${stack}`);
}
