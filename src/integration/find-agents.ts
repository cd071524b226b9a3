import { join } from 'node:path';
import { realRandom } from '../system/clock.ts';
import { statIfThere } from '../system/files.ts';
import { run } from '../system/run.ts';
import { inheritedEnvironment, isInstalled } from '../system/spawn.ts';
import type { Millis } from '../types.ts';

/** An agent that is used here; its version, where it could be asked. */
export type FoundAgent = { readonly version: string | null };

export type FoundAgents = { readonly claude: FoundAgent | null; readonly codex: FoundAgent | null };

/** What an agent may take to say its version. */
const longestAnswer: Millis = 10_000;

/** Finds out which agents are used here: their program is on the path, or they left a folder. */
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

/** It is not asked in the repository: what that holds is not run by looking. */
async function askVersion(program: string, cwd: string): Promise<string | null> {
  let said = '';
  const end = await run({
    command: [program, '--version'],
    cwd,
    env: inheritedEnvironment(),
    marker: `ORCH_LOOK=${realRandom.id(16)}`,
    timeout: longestAnswer,
    onOutput: (text) => {
      said = (said + text).slice(0, 1_000);
    },
  });
  return end.how === 'exited' && end.status === 0 ? (/\d+\.\d+\.\d+/.exec(said)?.[0] ?? null) : null;
}
