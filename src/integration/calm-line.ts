/*
 * The hook line for tool calls. Starting orch takes longer than most tools, so the shell asks two files first, whose
 * times of change are in the future (`session/agent-calm.ts`): `far` (nothing can come of a look until then) and `due`
 * (then one is made beside the agent, which does not wait). It starts no process to find that out: the repository's
 * folder is looked for with what every POSIX shell has, and "now" is the time of a file that it writes.
 */

/** Upwards to the repository, and from a linked worktree to the folder that all worktrees share. */
const findHome = [
  `f=$CLAUDE_PROJECT_DIR`,
  `while [ "\${f#/}" != "$f" ] && ! [ -e "$f/.git" ]; do f=\${f%/*}; done`,
  `f=$f/.git`,
  `[ -f "$f" ] && read -r _ f <"$f" && [ -f "$f/commondir" ] && read -r c <"$f/commondir" && f=$f/$c`,
  `f=$f/orchestration/calm/$CLAUDE_CODE_SESSION_ID`,
].join('; ');

const isFar = `[ -e "$f.far" ] && echo >"$f.now" && [ "$f.far" -nt "$f.now" ]`;
const lookBeside = `{ echo >"$f.busy"; { export ORCH_ASIDE=1; o; } <&3 >/dev/null 2>&1 & } 3<&0`;
const rest = `${findHome}; if ${isFar}; then [ "$f.due" -nt "$f.now" ] || [ "$f.busy" -nt "$f.due" ] || ${lookBeside}; exit 0; fi; o`;

/** A line that does what the given one does only where that has to be. */
export function unlessCalm(line: string): string {
  return `o() { ${line}; }; ${rest}`;
}

/** The line within such a line; null where it is none. */
export function readCalmLine(line: string): string | null {
  const [start, end] = ['o() { ', `; }; ${rest}`];
  return line.startsWith(start) && line.endsWith(end) ? line.slice(start.length, -end.length) : null;
}
