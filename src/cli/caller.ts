import { homedir } from 'node:os';
import { join } from 'node:path';
import type { OrchCommand } from '../integration/orch-command.ts';
import type { UserFolders } from '../session/init-facts.ts';
import { realPath } from '../system/files.ts';

/** The folders in which agents keep what is the user's, as their own variables say. */
export function userFolders(): UserFolders {
  const userHome = homedir();
  return {
    userHome,
    claudeHome: process.env.CLAUDE_CONFIG_DIR || join(userHome, '.claude'),
    codexHome: process.env.CODEX_HOME || join(userHome, '.codex'),
  };
}

/** How this program was started, so that an agent can start it again. */
export function thisCommand(): OrchCommand {
  return [process.execPath, realPath(process.argv[1] ?? '')];
}
