import type { Publication, Synced, SyncPreview, SyncResult } from '../index.ts';
import { count } from '../units.ts';
import { formatTable, type Output } from './output.ts';

/** What others would see, in a few words: `41 checkpoints, 12 snapshots (38 untracked files), 3 commits …`. */
export function sumUp({ epics, snapshots, untracked, commits }: Publication, remote: string): string {
  const checkpoints = epics.reduce((sum, epic) => sum + epic.checkpoints, 0);
  const files = untracked.length > 0 ? ` (${count(untracked.length, 'untracked file')})` : '';
  return [
    ...(checkpoints > 0 ? [count(checkpoints, 'checkpoint')] : []),
    ...(snapshots > 0 ? [`${count(snapshots, 'snapshot')} of your files${files}`] : []),
    ...(commits.length > 0 ? [`${count(commits.length, 'commit')} not on ${remote} yet`] : []),
  ].join(', ');
}

/** Everything a first sync would publish, and what it would bring. */
export function showPreview(out: Output, preview: SyncPreview): string {
  const { remote, wouldPublish, wouldFetch, skipped } = preview;
  const { epics, snapshots, untracked, commits } = wouldPublish;
  const lines: string[] = [];
  for (const { epicId, checkpoints } of epics)
    lines.push(`publish  ${epicId}: ${count(checkpoints, 'checkpoint')}`);
  if (snapshots > 0) lines.push(`publish  ${count(snapshots, 'snapshot')} of your files`);
  for (const path of untracked) lines.push(`           untracked  ${JSON.stringify(path).slice(1, -1)}`);
  if (commits.length > 0) lines.push(`publish  ${count(commits.length, 'commit')} not on ${remote} yet`);
  for (const { commit, subject } of commits) lines.push(`           ${commit.slice(0, 9)}  ${subject}`);
  for (const epic of wouldFetch) lines.push(`fetch    ${epic}`);
  for (const { ref, reason } of skipped) lines.push(out.paint('dim', `skip     ${ref}: ${reason}`));
  return lines.length > 0 ? lines.join('\n') : `${remote}: nothing new on either side`;
}

/** One line for each epic that went one way or the other. */
export function showSynced(out: Output, synced: Synced): string {
  const { remote, snapshots } = synced;
  const epics = [
    ...new Set([...synced.fetched, ...synced.merged, ...synced.pushed].map(({ epicId }) => epicId)),
  ];
  const rows = epics.sort().map((epicId) => [epicId, ...describeEpic(synced, epicId)]);
  if (snapshots.pushed + snapshots.fetched > 0)
    rows.push([
      'snapshots',
      snapshots.pushed > 0 ? `↑ ${count(snapshots.pushed, 'session')}` : '',
      snapshots.fetched > 0 ? `↓ ${count(snapshots.fetched, 'session')}` : '',
      '',
    ]);
  if (rows.length === 0) return synced.errors.length > 0 ? '' : `${remote}: nothing new on either side`;
  const paint = (text: string) => (text === 'snapshots' ? out.paint('dim', text) : text);
  return formatTable(rows, [{ paint }, {}, {}, {}], out.columns);
}

type Raised = { readonly epicId: string; readonly fromUsd: number; readonly toUsd: number | null };

/** A budget that others raised, and what counts until the user agrees. */
export function describeRaised({ epicId, fromUsd, toUsd }: Raised): string {
  const raised = toUsd === null ? 'lifted the budget' : `raised the budget to $${toUsd.toFixed(2)}`;
  return `${epicId}: another clone ${raised}. Here the limit is still $${fromUsd.toFixed(2)}.`;
}

export function budgetCommand({ epicId, toUsd }: Raised): string {
  return `orch cost budget ${toUsd ?? 'none'} -e ${epicId}`;
}

function describeEpic({ pushed, fetched, merged, returned }: SyncResult, epicId: string): string[] {
  const isIt = (moved: { readonly epicId: string }) => moved.epicId === epicId;
  const [up, down] = [pushed.find(isIt), fetched.find(isIt)];
  return [
    up ? `↑ ${count(up.checkpoints, 'checkpoint')}` : '',
    down ? `↓ ${count(down.checkpoints, 'checkpoint')}` : '',
    [
      ...(merged.some(isIt) ? ['joined'] : []),
      ...(returned.some((id) => id === epicId) ? ['deleted here once; others went on with it'] : []),
    ].join('; '),
  ];
}
