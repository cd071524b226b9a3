/* The lines orch adds to `.git/info/exclude`, which is the user's own and in no commit. */

const reason = '# by orch init (orch init --undo takes it out)';

/** Adds a pattern, with a line that says whose it is; a text that has it stays as it is. */
export function addExclude(text: string | null, pattern: string): string {
  const before = text ?? '';
  if (findOwn(before, pattern) !== null) return before;
  const lineEnd = before === '' || before.endsWith('\n') ? '' : '\n';
  return `${before}${lineEnd}${reason}\n${pattern}\n`;
}

/** Takes exactly those lines out again; a pattern that the user wrote stays. */
export function removeExclude(text: string, pattern: string): string {
  const own = findOwn(text, pattern);
  return own === null ? text : text.slice(0, own.start) + text.slice(own.end);
}

function findOwn(text: string, pattern: string): { readonly start: number; readonly end: number } | null {
  const lines = `${reason}\n${pattern}\n`;
  const start = `\n${text}`.indexOf(`\n${lines}`);
  return start === -1 ? null : { start, end: start + lines.length };
}
