import { quoteForShell } from '../integration/orch-command.ts';
import { cleanLine } from '../text.ts';
import type { Command, Deed, Request } from './types.ts';

/** Enough for people to know it again; the plan has all of it. */
const maxWhatBytes = 512;

/** What an effect does, for people: no header's value, no password, and variables by their names. */
export function describeDeed(deed: Deed): string {
  switch (deed.kind) {
    case 'command':
      return cleanLine(formatCommand(deed.run), maxWhatBytes);
    case 'request':
      return cleanLine(describeRequest(deed.request), maxWhatBytes);
    case 'function':
      return 'a function of the program';
  }
}

export function formatCommand(command: Command): string {
  return command.kind === 'shell' ? command.line : quoteForShell(command.argv);
}

function describeRequest({ method, url, headers, body }: Request): string {
  const names = Object.keys(headers);
  const parts = [`${method} ${hidePassword(url)}`];
  if (names.length > 0) parts.push(`(${names.join(', ')})`);
  if (body !== null && body !== undefined) parts.push(typeof body === 'string' ? body : JSON.stringify(body));
  return parts.join(' ');
}

/** An address without the password that may stand in it. */
export function hidePassword(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*):[^/?#]*@/i, '$1:***@');
}
