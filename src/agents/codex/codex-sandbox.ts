import { join } from 'node:path';
import { readTextIfThere } from '../../system/disk.ts';

/* What a Codex that runs headless may write: it cannot ask for permission, and by itself it may only read. */

/** The folders outside its working folder that it needs. */
export type CodexFolders = {
  /** `$CODEX_HOME`, with the user's settings. */
  readonly home: string;
  readonly writable: readonly string[];
};

const choosesSandbox =
  /^(?:-s|--sandbox|--yolo|--full-auto|--approve-for-me|--dangerously-bypass-approvals-and-sandbox|-p|--profile)(?:=|$)|\b(?:sandbox_mode|default_permissions)\b/;

/**
 * The arguments that let it write in its folder, unless its own arguments or the user's settings choose a sandbox. Its
 * shells are no login shells, since these may put the real git before orch's in PATH.
 */
export function sandboxCodex(args: readonly string[], { home, writable }: CodexFolders): string[] {
  const isChosen = args.some((each) => choosesSandbox.test(each)) || hasChosen(home);
  return [
    ...(isChosen ? [] : ['--sandbox', 'workspace-write']),
    ...writable.flatMap((folder) => ['--add-dir', folder]),
    ...(args.some((each) => each.includes('allow_login_shell')) ? [] : ['-c', 'allow_login_shell=false']),
  ];
}

/** Only what is above the first table holds for every project. */
function hasChosen(home: string): boolean {
  const [top = ''] = (readTextIfThere(join(home, 'config.toml')) ?? '').split(/^\s*\[/m);
  return /^\s*(?:sandbox_mode|default_permissions|profile)\s*=/m.test(top);
}
