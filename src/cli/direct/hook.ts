import { readFileSync } from 'node:fs';
import { parseHookCall } from '../../index.ts';

/** `hook claude|codex`: reads the event from stdin. Most need nothing done, and then the code for it is not loaded. */
export async function run(argv: readonly string[]): Promise<number> {
  if (argv[1] === 'gates') return (await import('./hook-work.ts')).runGates();
  const call = parseHookCall(argv[1] === 'codex' ? 'codex' : 'claude', readInput());
  if (call === null || call.event.kind === 'unknown') return 0;
  return (await import('./hook-work.ts')).answerHook(call);
}

/** Reads stdin, which may be closed. */
export function readInput(): string {
  try {
    return readFileSync(0, 'utf8');
  } catch {
    return '';
  }
}
