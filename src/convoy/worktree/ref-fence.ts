import { join } from 'node:path';
import { askGit } from '../../git/run-git.ts';
import type { Orch } from '../../orch.ts';
import { readTextIfThere, writeAtomically } from '../../system/disk.ts';
import type { Environment } from '../../system/process/spawn.ts';

/*
 * All worktrees share branches, tags and the stash. Git asks a hook before it moves any of them, and a worker's git gets
 * hooks of orch's that refuse everything but the worker's own branch. It stops accidents, not a hostile agent.
 */

/** Git's hooks, apart from the one that is the fence: each calls the user's own. */
const hooks: readonly string[] = [
  ...['applypatch-msg', 'pre-applypatch', 'post-applypatch', 'pre-commit', 'pre-merge-commit'],
  ...[
    'prepare-commit-msg',
    'commit-msg',
    'post-commit',
    'pre-rebase',
    'post-checkout',
    'post-merge',
    'pre-push',
  ],
  ...['post-rewrite', 'sendemail-validate', 'fsmonitor-watchman', 'post-index-change', 'push-to-checkout'],
];

/** The variables that put the fence around a worker; its branch is the only one it may move. */
export async function raiseFence(orch: Orch, branch: string): Promise<Environment> {
  const folder = join(orch.home, 'fence');
  for (const name of hooks) await writeHook(orch, join(folder, name), `${elsewhere}${passOn}`);
  await writeHook(orch, join(folder, 'reference-transaction'), `${elsewhere}${fence}\n${passOn}`);
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.hooksPath',
    GIT_CONFIG_VALUE_0: folder,
    ORCH_FENCE: `refs/heads/${branch}`,
    ORCH_FENCED: orch.repository.commonDir,
    ORCH_USER_HOOKS: await findUserHooks(orch),
  };
}

async function writeHook(orch: Orch, path: string, body: string): Promise<void> {
  const script = `#!/bin/sh\n${body}\n`;
  if (readTextIfThere(path) !== script)
    await writeAtomically(orch, path, script, { mode: 0o755, isDurable: false });
}

async function findUserHooks({ repository }: Orch): Promise<string> {
  const { stdout } = await askGit(repository, ['config', '--local', '--get', 'core.hooksPath']);
  const named = stdout.trim();
  return named === '' ? join(repository.commonDir, 'hooks') : named;
}

/** A worker's tests may make repositories of their own: there is no fence around these, and their hooks are their own. */
const elsewhere = `common=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null)
if [ -n "$common" ] && ! [ "$common" -ef "$ORCH_FENCED" ]; then
  ORCH_FENCE=
  ORCH_USER_HOOKS=$common/hooks
fi
`;

/** The user's hook of the same name, if there is one. */
const passOn = `hook="$ORCH_USER_HOOKS/\${0##*/}"
[ -x "$hook" ] && exec "$hook" "$@"
exit 0`;

/** Reads what is about to move, and refuses what is not the worker's. The user's own hook reads it after that. */
const fence = `if [ "$1" = prepared ] && [ -n "$ORCH_FENCE" ]; then
  moves=$(cat)
  refused=$(printf '%s\\n' "$moves" | while read -r _ _ ref; do
    case $ref in
      "$ORCH_FENCE"|refs/orchestration/*|refs/orchestration-local/*|refs/remotes/*|refs/bisect/*|refs/rewritten/*|refs/worktree/*) ;;
      refs/*) printf '%s ' "$ref" ;;
    esac
  done)
  if [ -n "$refused" ]; then
    echo "orch: a worker moves only its own branch, \${ORCH_FENCE#refs/heads/}; refused: $refused" >&2
    exit 1
  fi
  hook="$ORCH_USER_HOOKS/reference-transaction"
  [ -x "$hook" ] || exit 0
  printf '%s\\n' "$moves" | "$hook" "$@"
  exit $?
fi`;
