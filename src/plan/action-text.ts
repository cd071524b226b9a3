import { cleanLine, quoteForShell } from '../text.ts';
import type { Action, Command, Request } from './plan.ts';

/* How the actions of effects are shown without their secrets, and how their variables are filled in. */

/** Enough to recognize it by; the plan has all of it. */
const maxDescriptionBytes = 512;

/** Describes an action for people, without header values or passwords, and with variables by name. */
export function describeAction(action: Action): string {
  switch (action.kind) {
    case 'command':
      return cleanLine(formatCommand(action.run), maxDescriptionBytes);
    case 'request':
      return cleanLine(describeRequest(action.request), maxDescriptionBytes);
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

/** Replaces the password in a URL. */
export function hidePassword(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*):[^/?#]*@/i, '$1:***@');
}

export type Variables = { readonly [name: string]: string | undefined };

// Only with braces: a bare `$name` has its own meaning in the URLs of some services.
const placeholder = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Lists the variables that an action names and that have no value. */
export function findUnsetVariables(action: Action, variables: Variables): string[] {
  if (action.kind !== 'request') return [];
  const { url, headers } = action.request;
  const named = [url, ...Object.values(headers)].flatMap((text) =>
    [...text.matchAll(placeholder)].map(([, name = '']) => name),
  );
  return [...new Set(named)].filter((name) => !variables[name]);
}

/** Whether a text is a web address, as far as that can be known before its variables have values. */
export function isAddress(text: string): boolean {
  if (text.search(placeholder) === 0) return true;
  const filled = text.replace(placeholder, '1'); // valid as a host, a port and a word
  return /^https?:\/\//i.test(filled) && URL.canParse(filled);
}

/** Headers whose values are not secrets, so an answer that quotes them may be shown. */
const openHeaders: readonly string[] = ['accept', 'content-type', 'user-agent'];

/** Fills in the variables of a request's address and headers, and lists the values that must not be shown. */
export function fillIn(
  request: Request,
  variables: Variables,
): { readonly request: Request; readonly secrets: readonly string[] } {
  const secrets = new Set<string>();
  const fill = (text: string) =>
    text.replace(placeholder, (_, name: string) => {
      const value = variables[name] ?? '';
      secrets.add(value);
      return value;
    });
  const headers = Object.entries(request.headers).map(([name, value]) => [name, fill(value)] as const);
  const url = fill(request.url);
  for (const [name, value] of headers) {
    if (!openHeaders.includes(name.toLowerCase())) for (const word of value.split(/\s+/)) secrets.add(word);
  }
  return {
    request: { ...request, url, headers: Object.fromEntries(headers) },
    secrets: [...secrets],
  };
}

/** Shorter values are common words. */
const shortestSecret = 6;

/** Replaces secrets in a text, the longest first because one may be part of another. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= shortestSecret);
  return known
    .sort((a, b) => b.length - a.length)
    .reduce((hidden, secret) => hidden.replaceAll(secret, '***'), text);
}
