import { isOrchError, OrchError } from '../../../errors.ts';
import { type BisectEvent, type BisectResult, bisect, catchSignals } from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { quoteForShell } from '../../../text.ts';
import { count, parseDuration } from '../../../units.ts';
import { chooseEpic, epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, readText, readTexts, takeOwnWords } from '../../spec.ts';
import { showAnswer, showEvent, showTail } from './bisect-view.ts';

export const command = defineCommand({
  summary: 'find the checkpoint that broke a gate or a command',
  description:
    'Find the checkpoint that broke a gate or a command, by a binary search over the saved code. It is tried in a git worktree beside yours, which is removed at the end; your files, index, branches and stash stay as they are. Exit status 0 is good, 125 cannot say, anything else is bad, and so is a timeout. The same call continues after Ctrl+C or a crash.',
  argument: {
    name: 'gate',
    description: 'one of the gates, as `orch baseline` names them; or a command after --',
  },
  takesCommand: 'a command to run on the code of each checkpoint, in the folder you are in',
  options: [
    epicOption(),
    {
      flags: '--good <name>',
      description:
        'a checkpoint where it worked; by default the newest that is known to be green, else the oldest',
      names: 'checkpoint',
    },
    {
      flags: '--bad <name>',
      description: 'a checkpoint where it fails; by default the newest with code',
      names: 'checkpoint',
    },
    {
      flags: '--copy <path>',
      description: 'copy this from your working tree, because git ignores it: node_modules; repeatable',
      several: true,
    },
    { flags: '--setup <command>', description: 'a shell line to run before each try, such as "npm ci"' },
    {
      flags: '--timeout <time>',
      description: "of one try: 90s, 5m; by default the gate's own, none for a command",
    },
    { flags: '--fresh', description: 'start over: forget what earlier calls have tried' },
  ],
  examples: [
    'orch bisect test --copy node_modules',
    'orch bisect -- node check.js',
    'orch bisect lint --good 41 --bad 58',
    "orch bisect --setup 'npm ci' -- npm test",
  ],
  run: inRepository(async (context, orch, call) => {
    const { out, json, argv, cwd } = context;
    const timeout = readTimeout(call);
    if (call.argument === undefined && call.rest.length === 0 && argv.includes('--'))
      throw new OrchError('USAGE', 'no command after --', { hint: 'Try: orch bisect -- npm test' });
    const epicId = await chooseEpic(context, orch, readText(call, 'epic'), false);
    const signals = catchSignals();
    let tries = 0;
    const onEvent = (event: BisectEvent) => {
      if (event.kind === 'tried') tries = event.number;
      if (!json) for (const line of showEvent(out, event, epicId)) out.inform(line);
    };
    let result: BisectResult | null;
    try {
      result = await bisect(
        {
          epicId,
          ...(call.argument !== undefined && { gate: call.argument }),
          ...(call.rest.length > 0 && { command: call.rest }),
          good: readText(call, 'good'),
          bad: readText(call, 'bad'),
          setup: readText(call, 'setup'),
          copy: readTexts(call, 'copy'),
          timeout,
          fresh: call.options.fresh === true,
          cwd,
          onEvent,
          signal: signals.aborted,
        },
        orch,
      );
    } catch (error) {
      showReason(context, error);
      throw error;
    } finally {
      signals.release();
    }
    if (result === null) {
      const signal = signals.caught()?.signal ?? 'SIGINT';
      const after =
        tries === 0 ? '' : ` after ${tries === 1 ? '1 try' : `${tries} tries`}; what was tried is kept`;
      out.inform(`‖ Stopped by ${signal}${after}.`);
      out.inform(`  Continue  ${quoteForShell(['orch', ...withoutFresh(argv)])}`);
      return statusOfSignal(signal);
    }
    if (json) printJson(out, { bisect: result });
    else out.print(showAnswer(out, result, orch.clock.now()));
    if (result.status === 'found') return;
    throw new OrchError(
      'BISECT_FAILED',
      `${count(result.candidates.length, 'checkpoint')} may be the first bad one`,
      {
        hint: 'Make those that were skipped work (--setup, --copy), or judge them in another way.',
        data: { candidates: result.candidates.map(({ seq }) => seq) },
      },
    );
  }),
});

/** The words that continue the search: starting over again would forget what is known. */
function withoutFresh(argv: readonly string[]): string[] {
  const own = takeOwnWords(argv);
  return [...own.filter((word) => word !== '--fresh'), ...argv.slice(own.length)];
}

/** Shows what the command printed on the checkpoint that the error is about. */
function showReason({ out, json }: Context, error: unknown): void {
  if (json || !isOrchError(error) || typeof error.data.output !== 'string') return;
  for (const line of showTail(out, error.data.output)) out.inform(line);
}

function readTimeout(call: Call): number | undefined {
  const text = readText(call, 'timeout');
  if (text === undefined) return undefined;
  const timeout = parseDuration(text);
  if (timeout !== null && timeout > 0) return timeout;
  throw new OrchError('USAGE', `--timeout takes a duration, not ${JSON.stringify(text)}`, {
    hint: 'Try: --timeout 90s, or 5m',
  });
}
