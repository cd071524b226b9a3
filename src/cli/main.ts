import { writeSync } from 'node:fs';
import { exitStatuses, isOrchError, limitReached, OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { findCommand } from './commands.ts';
import { findWords, takeOwnWords } from './spec.ts';

declare const __ORCH_VERSION__: string;

/** Agents call these all the time, so they skip parsing and load only what they need. */
const direct: {
  readonly [command: string]: () => Promise<{ run(argv: readonly string[]): Promise<number> }>;
} = {
  hook: () => import('./direct/hook.ts'),
  statusline: () => import('./direct/statusline.ts'),
};

async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    writeSync(1, `${__ORCH_VERSION__}\n`);
    return 0;
  }
  const loadDirect = lookUp(direct, argv[0] ?? '');
  const asksForHelp = takeOwnWords(argv).some((word) => word === '-h' || word === '--help');
  if (loadDirect && !asksForHelp) return (await loadDirect()).run(argv);
  const found = asksForHelp ? null : findCommand(findWords(argv));
  const status = found && (await (await found.load()).start(argv, found.place));
  return status ?? (await import('./all-commands.ts')).run(argv);
}

/** Handles errors outside any command, such as a module that cannot be loaded. */
function fail(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  const known = isOrchError(error) ? error : (limitReached('orch had to stop', error) ?? bug(text));
  const { code, message, hint, data } = known;
  const isJson = takeOwnWords(process.argv.slice(2)).includes('--json');
  const shown = isJson
    ? JSON.stringify({ error: { code, message, hint, data } })
    : `error: ${message}${hint && `\n       ${hint}`}`;
  try {
    writeSync(2, `${shown}\n`);
  } finally {
    process.exit(exitStatuses[code]);
  }
}

function bug(text: string): OrchError {
  return new OrchError('INTERNAL', `a bug in orch: ${text}`, {
    hint: 'Everything orch confirmed is saved. Please report this, with the command you ran.',
  });
}

process.on('uncaughtException', fail);
// Everything is written by now; exiting at once saves Node's own shutdown time.
main(process.argv.slice(2)).then((status) => process.exit(status), fail);
