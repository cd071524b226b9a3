import {
  type Orch,
  openOrch,
  parseStatusCall,
  readStatusLine,
  reportStatusLine,
  runOwnLine,
  type StatusCall,
  type StatusLine,
} from '../../index.ts';
import { columnsOf } from '../../text.ts';
import { formatUsd } from '../../units.ts';
import { readSettings } from '../environment.ts';
import { writeTo } from '../output.ts';
import { showAmounts, showBar } from '../views/money-view.ts';
import { formatAgo } from '../views/time-view.ts';
import { readInput } from './hook.ts';

/* Called many times a minute. Whatever fails here, the user's own line is shown and the agent is not disturbed. */

/** `statusline`: prints one line about the session of the agent described on stdin. */
export async function run(argv: readonly string[]): Promise<number> {
  const input = readInput();
  const theirs = runUsersLine(argv, input);
  const call = parseStatusCall(input);
  const ours = call === null ? null : await makeLine(call);
  const lines = [(await theirs).replace(/\n+$/, ''), ours?.line ?? ''].filter((line) => line !== '');
  if (lines.length > 0) writeTo(1, `${lines.join('\n')}\n`);
  await ours?.finish();
  return 0;
}

async function runUsersLine(argv: readonly string[], input: string): Promise<string> {
  try {
    return await runOwnLine(argv, { input, cwd: process.cwd(), env: process.env });
  } catch {
    return ''; // the current folder no longer exists, so their command cannot run
  }
}

/** Makes our own line, and what is left to do once it is printed. */
async function makeLine(
  call: StatusCall,
): Promise<{ readonly line: string; finish(): Promise<void> } | null> {
  let orch: Orch | null = null;
  try {
    const place = { cwd: call.cwd ?? process.cwd(), beganIn: call.project ?? undefined };
    const opened = await openOrch({ ...readSettings(process.env), ...place });
    orch = opened;
    const found = await readStatusLine(opened, call);
    if (found === null) {
      opened.close();
      return null;
    }
    const finish = async () => {
      try {
        await found.record();
      } catch (error) {
        reportStatusLine(opened, error);
      } finally {
        opened.close();
      }
    };
    return { line: showStatusLine(found.line, Number(process.env.COLUMNS) || 80), finish };
  } catch (error) {
    // Outside a repository there is nowhere to report it.
    if (orch) reportStatusLine(orch, error);
    orch?.close();
    return null;
  }
}

/**
 * `feat-login s7 · session $0.96 · $4.10/$20.00 ██░░░░░ 20% · gates red · context 83% · saved 2m ago`. If it does not
 * fit, the bar is left out, then the age of the checkpoint.
 */
export function showStatusLine(line: StatusLine, columns: number): string {
  const { epic, number, session, budget, gates, percent, age } = line;
  const used = budget.percent === null ? '' : ` ${Math.floor(budget.percent)}%`;
  const bar = showBar(budget.percent);
  const isAll = Math.round(budget.spentUsd * 100) === Math.round(session / 10_000);
  const saved = age === null ? 'nothing saved' : `saved ${formatAgo(age)}`;
  const show = (shownBar: string, last: string) =>
    [
      number === null ? epic : `${epic} s${number}`,
      // Shown only if it differs from what the whole epic has spent.
      isAll || session === 0 ? '' : `session ${formatUsd(session)}`,
      `${showAmounts(budget)}${shownBar && ` ${shownBar}`}${used}`,
      gates === 'unknown' ? '' : `gates ${gates}`,
      percent === null ? '' : `context ${Math.floor(percent)}%`,
      last,
    ]
      .filter((part) => part !== '')
      .join(' · ');
  const shorter = [show(bar, saved), show('', saved), ...(age === null ? [] : [show('', '')])];
  return shorter.find((text) => columnsOf(text) <= columns) ?? shorter.at(-1) ?? '';
}
