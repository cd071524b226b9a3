export type Trailer = { readonly name: string; readonly value: string };

/** The trailers in the last paragraph of a commit's message, with their continuation lines. A subject is none. */
export function readTrailers(message: string): Trailer[] {
  const [, ...paragraphs] = message.trimEnd().split('\n\n');
  const trailers: { name: string; value: string }[] = [];
  for (const line of (paragraphs.at(-1) ?? '').split('\n')) {
    const found = /^([A-Za-z][A-Za-z0-9-]*): ?(.*)$/.exec(line);
    const last = trailers.at(-1);
    if (found) trailers.push({ name: found[1] ?? '', value: found[2] ?? '' });
    else if (/^\s/.test(line) && last) last.value += `\n${line}`;
  }
  return trailers;
}
