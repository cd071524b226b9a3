import { writeSync } from 'node:fs';
import { exitStatuses, isOrchError, limitReached, OrchError } from '../errors.ts';
import { ownWords, wordsOf } from './words.ts';

declare const __ORCH_VERSION__: string;

type Group = { run(argv: readonly string[]): Promise<number> };

/** The commands and the bundle each is in. A command that is not here is looked for, and suggested, in all of them. */
const groups: { readonly [command: string]: () => Promise<Group> } = {
  baseline: () => import('./baseline.ts'),
  batch: () => import('./batch.ts'),
  brief: () => import('./brief.ts'),
  checkpoint: () => import('./checkpoint.ts'),
  cleanup: () => import('./cleanup.ts'),
  complete: () => import('./short.ts'),
  cost: () => import('./cost.ts'),
  demo: () => import('./demo.ts'),
  diff: () => import('./code-spec.ts'),
  doctor: () => import('./doctor.ts'),
  epic: () => import('./epic.ts'),
  hook: () => import('./hook-first.ts'),
  init: () => import('./init.ts'),
  list: () => import('./short.ts'),
  log: () => import('./log.ts'),
  mcp: () => import('./mcp.ts'),
  pause: () => import('./short.ts'),
  record: () => import('./record.ts'),
  restore: () => import('./code-spec.ts'),
  resume: () => import('./short.ts'),
  run: () => import('./run-plan.ts'),
  session: () => import('./session.ts'),
  start: () => import('./short.ts'),
  status: () => import('./status.ts'),
  statusline: () => import('./statusline.ts'),
  sync: () => import('./sync.ts'),
};

/** These read no options: what they print is for agents. Somebody who asks for help is a person. */
function asksForHelp([command = '', ...rest]: readonly string[]): boolean {
  return (command === 'hook' || command === 'statusline') && rest.some((word) => /^(-h|--help)$/.test(word));
}

async function main(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    writeSync(1, `${__ORCH_VERSION__}\n`);
    return;
  }
  const [command = ''] = wordsOf(argv);
  const load = Object.hasOwn(groups, command) && !asksForHelp(argv) ? groups[command] : undefined;
  const group = await (load ?? (() => import('./all.ts')))();
  // All is written by now; taking node apart piece by piece would only take time.
  process.exit(await group.run(argv));
}

/** What no command could answer for: a part that cannot be loaded, an error that came from nowhere. */
function fail(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  const known = isOrchError(error) ? error : (limitReached('orch had to stop', error) ?? bug(text));
  const { code, message, hint, data } = known;
  const isJson = ownWords(process.argv.slice(2)).includes('--json');
  const said = isJson
    ? JSON.stringify({ error: { code, message, hint, data } })
    : `error: ${message}${hint && `\n       ${hint}`}`;
  try {
    writeSync(2, `${said}\n`);
  } finally {
    process.exit(exitStatuses[code]);
  }
}

function bug(text: string): OrchError {
  return new OrchError('INTERNAL', `a bug in orch: ${text}`, {
    hint: 'Nothing that was acknowledged is lost. Please report this, with what you typed.',
  });
}

process.on('uncaughtException', fail);
main(process.argv.slice(2)).catch(fail);
