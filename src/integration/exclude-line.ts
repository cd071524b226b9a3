/* The lines orch adds to `.git/info/exclude`, which is the user's own and in no commit. */

const reason = '# by orch init (orch init --undo takes it out)';

/** Adds a pattern at the top, with a line that says whose it is: so the rest stays as it is, to the last line end. */
export function addExclude(text: string | null, pattern: string): string {
  const before = text ?? '';
  return findOwn(before, pattern) === null ? `${reason}\n${pattern}\n${before}` : before;
}

/** Takes exactly those lines out again, null where there are no others; a pattern that the user wrote stays. */
export function removeExclude(text: string, pattern: string): string | null {
  const own = findOwn(text, pattern);
  if (own === null) return text;
  return text.slice(0, own.start) + text.slice(own.end) || null;
}

function findOwn(text: string, pattern: string): { readonly start: number; readonly end: number } | null {
  const lines = `${reason}\n${pattern}\n`;
  const start = `\n${text}`.indexOf(`\n${lines}`);
  return start === -1 ? null : { start, end: start + lines.length };
}
