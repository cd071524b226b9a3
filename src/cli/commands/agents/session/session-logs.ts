import { readSessionLog } from '../../../../index.ts';
import { epicOption } from '../../../choose.ts';
import { printJson, writeTo } from '../../../output.ts';
import { defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { viewEpic } from '../../../views/session-view.ts';

export const command = defineCommand({
  description: 'Print the output of a background session.',
  argument: { name: 'session', description: 's7, or its id; the running or newest one by default' },
  options: [epicOption(), { flags: '-f, --follow', description: 'keep printing until the session ends' }],
  examples: ['orch session logs -f', 'orch session logs s7 --epic feat-login'],
  run: inRepository(async (context, orch, call) => {
    const { out, json } = context;
    const view = await viewEpic(context, orch, readText(call, 'epic'));
    const pieces: Buffer[] = [];
    const collect = (bytes: Buffer) => pieces.push(bytes) > 0;
    const print = (bytes: Buffer) => writeTo(1, bytes);
    const follow = call.options.follow === true;
    const session = await readSessionLog(orch, view, call.argument, {
      follow,
      onText: json ? collect : print,
    });
    if (json) printJson(out, { session, log: Buffer.concat(pieces).toString() });
  }),
});
