import { join } from 'node:path';
import { realRandom } from '../system/clock.ts';
import { statIfThere } from '../system/disk.ts';
import { run } from '../system/process/capture.ts';
import { inheritedEnvironment, isInstalled } from '../system/process/spawn.ts';
import type { Millis } from '../types.ts';

/** An agent that is used here, with its version if known. */
export type FoundAgent = { readonly version: string | null };

export type FoundAgents = { readonly claude: FoundAgent | null; readonly codex: FoundAgent | null };

/** How long an agent may take to print its version. */
const versionTimeout: Millis = 10_000;

/** Finds the agents used here: their program is on the PATH, or they left a folder. */
export async function findAgents(places: {
  readonly worktree: string;
  readonly userHome: string;
  readonly codexHome: string;
}): Promise<FoundAgents> {
  const [claude, codex] = await Promise.all([
    findAgent('claude', join(places.worktree, '.claude'), places.userHome),
    findAgent('codex', places.codexHome, places.userHome),
  ]);
  return { claude, codex };
}

async function findAgent(program: string, folder: string, cwd: string): Promise<FoundAgent | null> {
  if (isInstalled(program)) return { version: await askVersion(program, cwd) };
  return statIfThere(folder)?.isDirectory() ? { version: null } : null;
}

/** Runs outside the repository, so that nothing in it can run by being looked at. */
async function askVersion(program: string, cwd: string): Promise<string | null> {
  let output = '';
  const end = await run({
    command: [program, '--version'],
    cwd,
    env: inheritedEnvironment(),
    marker: `ORCH_LOOK=${realRandom.id(16)}`,
    timeout: versionTimeout,
    onOutput: (text) => {
      output = (output + text).slice(0, 1_000);
    },
  });
  return end.how === 'exited' && end.status === 0 ? (/\d+\.\d+\.\d+/.exec(output)?.[0] ?? null) : null;
}
