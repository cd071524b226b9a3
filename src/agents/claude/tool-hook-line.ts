/*
 * The hook line for tool calls. Starting orch takes longer than most tools, so the shell first checks a few files
 * (`record/call-checks.ts`) whose modification times are in the future: `far` (until then, and for as many calls as it
 * says, orch has nothing to do) and `due` (from then on orch runs in the background, and the agent does not wait).
 * The check starts no process: it finds the repository with what every POSIX shell has, and "now" is the modification
 * time of the file in which it counts the calls.
 */

/** Goes up to the repository, and from a linked worktree to the folder that all worktrees share. */
const findHome = [
  `f=$CLAUDE_PROJECT_DIR`,
  `while [ "\${f#/}" != "$f" ] && ! [ -e "$f/.git" ]; do f=\${f%/*}; done`,
  `f=$f/.git`,
  `[ -f "$f" ] && read -r _ f <"$f" && [ -f "$f/commondir" ] && read -r c <"$f/commondir" && f=$f/$c`,
  `f=$f/orchestration/calm/$CLAUDE_CODE_SESSION_ID`,
].join('; ');

/** True before the deadline and below the number of calls. Anything that is not a number makes it false. */
const isFar = [
  `[ -e "$f.far" ]`,
  `read -r m _ <"$f.far"`,
  `read -r n <"$f.now"`,
  `[ "$n" -lt "$m" ]`,
  // Overwritten in place: ext4 waits for the disk if a file is truncated first.
  `echo $((n+1)) 1<>"$f.now"`,
  `[ "$f.far" -nt "$f.now" ]`,
].join(' && ');
const runInBackground = `{ echo >"$f.busy"; { export ORCH_ASIDE=1; o; } <&3 >/dev/null 2>&1 & } 3<&0`;
const rest = `${findHome}; if { ${isFar}; } 2>/dev/null; then [ "$f.due" -nt "$f.now" ] || [ "$f.busy" -nt "$f.due" ] || ${runInBackground}; exit 0; fi; o`;

/** Wraps a command line so that it only runs when it is needed. */
export function wrapToolHook(line: string): string {
  return `o() { ${line}; }; ${rest}`;
}

/** Returns the command line inside a wrapped one; null if it is not wrapped. */
export function unwrapToolHook(line: string): string | null {
  const [start, end] = ['o() { ', `; }; ${rest}`];
  return line.startsWith(start) && line.endsWith(end) ? line.slice(start.length, -end.length) : null;
}
