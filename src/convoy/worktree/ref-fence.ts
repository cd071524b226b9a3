import { delimiter, join } from 'node:path';
import { askGit } from '../../git/run-git.ts';
import type { Orch } from '../../orch.ts';
import { readTextIfThere, writeAtomically } from '../../system/disk.ts';
import { type Environment, findProgram, inheritedEnvironment } from '../../system/process/spawn.ts';

/*
 * All worktrees share branches, tags and the stash. Git asks a hook before it moves any of them, and a worker's git gets
 * hooks of orch's that refuse everything but the worker's own branch. Git asks none before it drops one of several
 * stashes, so a `git` of orch's is in front of the real one and refuses that too. It stops accidents, not a hostile agent.
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
  for (const name of hooks) await writeScript(orch, join(folder, name), `${elsewhere}${passOn}`);
  await writeScript(orch, join(folder, 'reference-transaction'), `${elsewhere}${fence}\n${passOn}`);
  const inherited = inheritedEnvironment();
  const programs = join(folder, 'bin');
  const path = (inherited.PATH ?? '').split(delimiter).filter((each) => each !== programs);
  const git = findProgram('git', { PATH: path.join(delimiter) });
  if (git !== null) await writeScript(orch, join(programs, 'git'), guard);
  return {
    ...addSettings(inherited, [
      ['core.hooksPath', folder],
      // A monitor would keep working in the worktree after the worker has ended.
      ['core.fsmonitor', 'false'],
    ]),
    ...(git !== null && { PATH: [programs, ...path].join(delimiter), ORCH_GIT: git }),
    ORCH_FENCE: `refs/heads/${branch}`,
    ORCH_FENCED: orch.repository.commonDir,
    ORCH_USER_HOOKS: await findUserHooks(orch),
  };
}

/** Settings for git in a worker's environment, after those that are in ours. */
function addSettings(
  inherited: Environment,
  settings: readonly (readonly [key: string, value: string])[],
): Environment {
  const first = Number.parseInt(inherited.GIT_CONFIG_COUNT ?? '', 10) || 0;
  const kept = Array.from({ length: first }, (_, at) => [
    inherited[`GIT_CONFIG_KEY_${at}`],
    inherited[`GIT_CONFIG_VALUE_${at}`],
  ]);
  const all = [...kept, ...settings];
  const entries = all.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(all.length), ...Object.fromEntries(entries) };
}

async function writeScript(orch: Orch, path: string, body: string): Promise<void> {
  const script = `#!/bin/sh\n${body}\n`;
  if (readTextIfThere(path) !== script.trim())
    await writeAtomically(orch, path, script, { mode: 0o755, isDurable: false });
}

/** Where the user's hooks are, as their config has it: for this repository or for all of theirs. */
async function findUserHooks({ repository }: Orch): Promise<string> {
  // The last one counts, apart from what orch gives its own git.
  const args = ['config', '--null', '--show-scope', '--type=path', '--get-all', 'core.hooksPath'];
  const fields = (await askGit(repository, args)).stdout.split('\0');
  const named = fields.filter((_, at) => at % 2 === 1 && fields[at - 1] !== 'command').at(-1) ?? '';
  return named === '' ? join(repository.commonDir, 'hooks') : named;
}

/** A worker's tests may make repositories of their own: there is no fence around these, and their hooks are their own. */
const elsewhere = `common=$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null)
if [ -n "$common" ] && ! [ "$common" -ef "$ORCH_FENCED" ]; then
  ORCH_FENCE=
  ORCH_USER_HOOKS=$(GIT_CONFIG_COUNT=0 git config --type=path --get core.hooksPath) || ORCH_USER_HOOKS=$common/hooks
fi
`;

/** The user's hook of the same name, if there is one. */
const passOn = `hook="$ORCH_USER_HOOKS/\${0##*/}"
[ -x "$hook" ] && exec "$hook" "$@"
exit 0`;

/**
 * Reads what is about to move, and refuses what is not the worker's; HEAD is the worker's only in its own worktree. The
 * user's own hook reads it after that.
 */
const fence = `if [ "$1" = prepared ] && [ -n "$ORCH_FENCE" ]; then
  moves=$(cat)
  refused=$(printf '%s\\n' "$moves" | while read -r _ _ ref; do
    case $ref in
      "$ORCH_FENCE"|refs/orchestration/*|refs/orchestration-local/*|refs/remotes/*|refs/bisect/*|refs/rewritten/*|refs/worktree/*) ;;
      refs/*) printf '%s ' "$ref" ;;
      HEAD) [ "$(git rev-parse --absolute-git-dir)" -ef "$ORCH_FENCED" ] && printf "the user's HEAD " ;;
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

/**
 * The git in front of the real one: looks for the command behind the options, and refuses what git asks no hook about, or
 * not ours: dropping a stash, and pushing into the repository itself, for which git clears the settings of the fence.
 */
const guard = `orch_at=. orch_skip= orch_command= orch_action=
is_fenced() {
  [ "$("$ORCH_GIT" -C "$1" rev-parse --path-format=absolute --git-common-dir 2>/dev/null)" -ef "$ORCH_FENCED" ]
}
refuse() {
  echo "orch: $1; commit on your branch instead" >&2
  exit 1
}
for orch_word in "$@"; do
  case $orch_skip in
    -C) case $orch_word in /*) orch_at=$orch_word ;; *) orch_at=$orch_at/$orch_word ;; esac; orch_skip= ; continue ;;
    ?*) orch_skip= ; continue ;;
  esac
  case $orch_command in
    push)
      # A plain word is a remote or a branch, even if a folder has the same name.
      case $orch_word in
        file://*) orch_place=\${orch_word#file://} ;;
        /*) orch_place=$orch_word ;;
        .|./*|..|../*) orch_place=$orch_at/$orch_word ;;
        *) continue ;;
      esac
      if [ -d "$orch_place" ] && is_fenced "$orch_place"; then refuse 'a worker does not push into the repository it works in'; fi
      continue ;;
    ?*) orch_action=$orch_word; break ;;
  esac
  case $orch_word in
    -C|-c|--git-dir|--work-tree|--namespace|--exec-path|--config-env|--super-prefix) orch_skip=$orch_word ;;
    -*) ;;
    stash|reflog|push) orch_command=$orch_word ;;
    *) break ;;
  esac
done
case "$orch_command $orch_action" in
  'stash list'|'stash show'|'stash create') ;;
  stash*|'reflog delete'|'reflog expire')
    if is_fenced "$orch_at"; then refuse 'all worktrees share the stash and the logs of branches, so a worker does not change them'; fi ;;
esac
exec "$ORCH_GIT" "$@"`;
