import type { EpicInfo } from '../library/epics.ts';
import type { EpicHoldings } from '../session/epics.ts';
import type { EpicId, Millis } from '../types.ts';
import { count, formatAge } from '../units.ts';
import { formatTable, type Output } from './output.ts';
import { markOf, showAmounts, showWhen } from './session-view.ts';

/** `58 checkpoints, $4.10/$20.00, the files of 3 sessions`. */
function showHoldings({ checkpoints, budget, snapshots }: EpicHoldings): string {
  const files = snapshots > 0 ? [`the files of ${count(snapshots, 'session')}`] : [];
  return [count(checkpoints, 'checkpoint'), `${showAmounts(budget)} spent`, ...files].join(', ');
}

const oldRef = (epic: EpicId) => `refs/orchestration/epics/${epic}`;

/** How the same could be done on remotes: orch never takes anything away there by itself. */
function showRemotes({ epicId, remotes }: EpicHoldings, what: string): string[] {
  return remotes.map(
    (remote) => `  ${remote} ${what}. To remove it there: git push ${remote} --delete ${oldRef(epicId)}`,
  );
}

export function showArchiving(held: EpicHoldings): string[] {
  return [
    `Archive ${held.epicId}: orch status will not show it any more. It has ${showHoldings(held)}.`,
    '  Nothing is deleted. Its budget, checkpoints and snapshots stay, and all commands can read it.',
    ...(held.remotes.length > 0 ? ['  Other clones archive it when they sync.'] : []),
    `  Back: orch epic restore ${held.epicId}`,
  ];
}

export function showDeleting(held: EpicHoldings, keptFor: Millis | null): string[] {
  const files = held.snapshots > 0 ? ' Its snapshots stay as long as it is there.' : '';
  const long = keptFor === null ? 'until you empty it' : `for ${formatAge(keptFor)}`;
  return [
    `Delete ${held.epicId}: it goes to the trash, with ${showHoldings(held)}.`,
    `  The trash keeps it ${long}.${files} What it spent and its budget go with it.`,
    ...showRemotes(held, 'keeps its copy; a sync brings it back here only if another clone works on it'),
    `  Back: orch epic restore ${held.epicId}`,
  ];
}

export function showRenaming(held: EpicHoldings, to: EpicId): string[] {
  return [
    `Rename ${held.epicId} to ${to}: ${showHoldings(held)}.`,
    '  Its budget, history and snapshots go along. Older checkpoints still say the old name.',
    ...(held.remotes.length > 0
      ? [`  The next orch sync sends ${to}; other clones rename theirs when they sync.`]
      : []),
    ...showRemotes(held, `also keeps the old name, which no sync brings back`),
  ];
}

export function showRestoring(epic: EpicId, deletedAt: Millis | null, now: Millis): string[] {
  if (deletedAt === null) return [`Unarchive ${epic}: orch status will show it again.`];
  const age = formatAge(Math.max(0, now - deletedAt));
  return [
    `Bring ${epic} back from the trash (deleted ${age === 'now' ? 'just now' : `${age} ago`}).`,
    '  Its checkpoints, budget and what it spent are as they were. Remotes are not changed.',
  ];
}

/** One line an epic. */
export function showEpicList(out: Output, epics: readonly EpicInfo[], now: Millis): string {
  const rows = epics.map(({ epicId, state, status, deletedAt, budget, checkpoints, snapshots }) => {
    const last = deletedAt ?? status?.checkpoint?.timestamp ?? null;
    const session = status?.session ? markOf(status.session.status) : '–';
    return [
      epicId,
      state === 'active' ? session : state,
      showAmounts(budget),
      String(checkpoints),
      deletedAt === null ? String(snapshots) : '–',
      last === null ? '–' : showWhen(last, now),
    ];
  });
  const header = ['EPIC', 'STATE', 'SPENT', 'CKPTS', 'SNAPSHOTS', 'LAST'];
  const right = { align: 'right' as const };
  const [head = '', ...lines] = formatTable(
    [header, ...rows],
    [{}, {}, {}, right, right, {}],
    out.columns,
  ).split('\n');
  return [out.paint('dim', head), ...lines].join('\n');
}
