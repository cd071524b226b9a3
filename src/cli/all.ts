import { registerCheckpoint } from './checkpoint.ts';
import { registerCompletion } from './completion.ts';
import { type Register, runProgram } from './program.ts';

/** Every command there is. */
export const registers: readonly Register[] = [registerCheckpoint, registerCompletion];

export function run(argv: readonly string[]): Promise<number> {
  return runProgram(argv.length === 0 ? ['--help'] : argv, registers);
}
