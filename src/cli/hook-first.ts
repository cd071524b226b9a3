import { readFileSync } from 'node:fs';
import { parseHookCall } from '../integration/hook-call.ts';

/* Agents call hooks all the time, and often there is nothing to do: then what would do it is not even loaded. */

/** `hook claude|codex`: reads what the agent says, and hands it on where it is of any interest. */
export async function run(argv: readonly string[]): Promise<number> {
  if (argv[1] === 'gates') return (await import('./hook-gates.ts')).run();
  const text = readInput();
  const call = parseHookCall(argv[1] === 'codex' ? 'codex' : 'claude', text);
  if (call === null || call.event.kind === 'unknown') return 0;
  return (await import('./hook.ts')).run(argv, text);
}

function readInput(): string {
  try {
    return readFileSync(0, 'utf8');
  } catch {
    return ''; // there is no stdin: nobody says anything
  }
}
