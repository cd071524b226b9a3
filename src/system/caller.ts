import { homedir } from 'node:os';
import { join } from 'node:path';
import { realPath } from './files.ts';

/* What only the program that was started can know. */

/** The folders in which agents keep what is the user's, as their own variables say. */
export function userFolders() {
  const userHome = homedir();
  return {
    userHome,
    claudeHome: process.env.CLAUDE_CONFIG_DIR || join(userHome, '.claude'),
    codexHome: process.env.CODEX_HOME || join(userHome, '.codex'),
  };
}

/** How this program was started, so that an agent can start it again. */
export function thisCommand(): readonly string[] {
  return [process.execPath, realPath(process.argv[1] ?? '')];
}

/** The version of node that runs this. */
export function nodeVersion(): string {
  return process.versions.node;
}
