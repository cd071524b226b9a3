import { OrchError } from '../../../errors.ts';
import {
  dropNotice,
  listNotices,
  type NoticeInfo,
  type Notices,
  replayNotices,
  testReceiver,
} from '../../../index.ts';
import { count } from '../../../units.ts';
import { approveConfig } from '../../config-trust.ts';
import { type Output, printJson, showTable } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import type { Command } from '../../spec.ts';
import { describeTime, formatWhen } from '../../views/time-view.ts';

export const commands: { readonly [name: string]: Command } = {
  list: defineCommand({
    summary: 'notices that wait to be sent, or could not be',
    description:
      'List the notices that wait to be sent and those that could not be, with the reason and the next attempt. They are sent while a convoy or a supervised session runs.',
    options: [],
    examples: ['orch notify', 'orch notify list --json'],
    run: inRepository(async (context, orch) => {
      const { out, json } = context;
      await approveConfig(context, orch);
      const found = await listNotices(orch);
      if (json) return printJson(out, found);
      for (const line of showNotices(out, found, orch.clock.now())) out.print(line);
      return undefined;
    }),
  }),

  test: defineCommand({
    summary: 'send a test notice to a receiver',
    description:
      'Send a test notice to a receiver, once and at once, and print the result. Exit 1 if it did not arrive.',
    argument: { name: 'receiver', required: true, description: 'its name in .orchestration/config.yaml' },
    options: [],
    examples: ['orch notify test chat'],
    run: inRepository(async (context, orch, call) => {
      const { out, json } = context;
      await approveConfig(context, orch);
      const tested = await testReceiver(call.argument ?? '', orch);
      const { receiver, isDelivered, reason } = tested;
      if (json) printJson(out, tested);
      else if (isDelivered) out.print(`${out.paint('green', '✓')} ${receiver} has got the test notice.`);
      else out.print(`${out.paint('red', '✗')} ${receiver}: ${reason}`);
      return isDelivered ? 0 : 1;
    }),
  }),

  replay: defineCommand({
    summary: 'queue again what could not be sent, and send it',
    description:
      'Queue the notices again that could not be sent, and send all that is due. With an ID: only that one, also if it still waits for its next attempt.',
    argument: { name: 'id', description: 'the id of a notice; all that could not be sent by default' },
    options: [],
    examples: ['orch notify replay', 'orch notify replay ev-0123456789abcdef'],
    run: inRepository(async (context, orch, call) => {
      const { out, json } = context;
      await approveConfig(context, orch);
      const result = await replayNotices(call.argument ?? null, orch);
      if (json) return printJson(out, result);
      const { replayed, notices } = result;
      out.print(
        replayed === 0 ? 'Nothing had to be queued again.' : `Queued ${count(replayed, 'notice')} again.`,
      );
      if (notices.length > 0) out.print(showTableOf(out, notices, orch.clock.now()));
      else if (replayed > 0) out.print('All have been sent.');
      return undefined;
    }),
  }),

  drop: defineCommand({
    summary: 'give up a notice',
    description:
      'Give up a notice that waits or could not be sent: it is not sent to anyone who has not got it.',
    argument: { name: 'id', required: true, description: 'the id of a notice' },
    options: [],
    examples: ['orch notify drop ev-0123456789abcdef'],
    run: inRepository(async ({ out, json, settings }, orch, call) => {
      if (settings.byAgent)
        throw new OrchError('USAGE', 'an agent cannot give up what its user is to hear', {
          hint: 'Ask the user to',
        });
      const dropped = await dropNotice(call.argument ?? '', orch);
      if (json) printJson(out, { dropped });
      else out.print(`Gave up ${count(dropped, 'notice')}.`);
      return undefined;
    }),
  }),
};

function showNotices(out: Output, { receivers, notices }: Notices, now: number): string[] {
  const list = receivers.map(({ name, on }) => `${name} (${on.join(', ')})`).join('; ');
  const who =
    list === '' ? 'No receiver is configured: notify: in .orchestration/config.yaml' : `Receivers: ${list}`;
  if (notices.length > 0) return [who, showTableOf(out, notices, now)];
  return list === '' ? [who] : [who, 'All notices have been sent.'];
}

function showTableOf(out: Output, notices: readonly NoticeInfo[], now: number): string {
  const rows = notices.map(({ id, receiver, kind, epicId, task, at, nextAt, attempts, reason }) => [
    ...[id, receiver, kind, task === null ? epicId : `${epicId}/${task}`, formatWhen(at, now)],
    nextAt === null ? out.paint('red', 'no more') : describeNext(Date.parse(nextAt), now),
    reason === null ? '' : `${reason}${attempts > 1 ? ` (attempt ${attempts})` : ''}`,
  ]);
  const header = ['ID', 'RECEIVER', 'KIND', 'ABOUT', 'SINCE', 'NEXT ATTEMPT', 'WHY'];
  return showTable(
    out,
    header,
    rows,
    header.map(() => ({})),
  );
}

function describeNext(at: number, now: number): string {
  return at <= now ? 'due' : describeTime(at, now);
}
