/*
 * The hook line for tool calls. Starting orch takes longer than most tools, so the shell asks a few files first
 * (`session/calm-files.ts`), whose times of change are in the future: `far` (nothing can come of a look until then, and
 * for as many calls as it says) and `due` (then a look is made beside the agent, which does not wait for it). It starts
 * no process to find that out: the repository's folder is looked for with what every POSIX shell has, and "now" is the
 * time of the file in which it counts the calls.
 */

/** Upwards to the repository, and from a linked worktree to the folder that all worktrees share. */
const findHome = [
  `f=$CLAUDE_PROJECT_DIR`,
  `while [ "\${f#/}" != "$f" ] && ! [ -e "$f/.git" ]; do f=\${f%/*}; done`,
  `f=$f/.git`,
  `[ -f "$f" ] && read -r _ f <"$f" && [ -f "$f/commondir" ] && read -r c <"$f/commondir" && f=$f/$c`,
  `f=$f/orchestration/calm/$CLAUDE_CODE_SESSION_ID`,
].join('; ');

/** Is the time not over, and the number of calls not used up? What is no number ends it too. */
const isFar = [
  `[ -e "$f.far" ]`,
  `read -r m _ <"$f.far"`,
  `read -r n <"$f.now"`,
  `[ "$n" -lt "$m" ]`,
  // Written over, not anew: ext4 waits for the disk where a file is emptied first.
  `echo $((n+1)) 1<>"$f.now"`,
  `[ "$f.far" -nt "$f.now" ]`,
].join(' && ');
const lookBeside = `{ echo >"$f.busy"; { export ORCH_ASIDE=1; o; } <&3 >/dev/null 2>&1 & } 3<&0`;
const rest = `${findHome}; if { ${isFar}; } 2>/dev/null; then [ "$f.due" -nt "$f.now" ] || [ "$f.busy" -nt "$f.due" ] || ${lookBeside}; exit 0; fi; o`;

/** A line that does what the given one does only where that has to be. */
export function unlessCalm(line: string): string {
  return `o() { ${line}; }; ${rest}`;
}

/** The line within such a line; null where it is none. */
export function readCalmLine(line: string): string | null {
  const [start, end] = ['o() { ', `; }; ${rest}`];
  return line.startsWith(start) && line.endsWith(end) ? line.slice(start.length, -end.length) : null;
}
