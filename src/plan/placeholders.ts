import type { Deed, Request } from './types.ts';

export type Variables = { readonly [name: string]: string | undefined };

// With braces only: a bare `$name` has its own meaning in the addresses of some services.
const placeholder = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Which variables a deed names that have no value. */
export function findUnsetVariables(deed: Deed, variables: Variables): string[] {
  if (deed.kind !== 'request') return [];
  const named = textsOf(deed.request).flatMap((text) =>
    [...text.matchAll(placeholder)].map(([, name = '']) => name),
  );
  return [...new Set(named)].filter((name) => !variables[name]);
}

/** Is this the address of a web server, as far as can be told before its variables have values? */
export function isAddress(text: string): boolean {
  if (text.search(placeholder) === 0) return true;
  const filled = text.replace(placeholder, '1'); // it may stand for a host, a port or a word
  return /^https?:\/\//i.test(filled) && URL.canParse(filled);
}

/** Headers whose values are no secrets: an answer that quotes them may be shown. */
const openHeaders: readonly string[] = ['accept', 'content-type', 'user-agent'];

/**
 * A request with the variables its address and headers name filled in, so that no secret has to stand in a plan;
 * and the values that must not be shown.
 */
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

function textsOf({ url, headers }: Request): string[] {
  return [url, ...Object.values(headers)];
}

/** Shorter values are words that stand everywhere. */
const shortestSecret = 6;

/** Takes values that must not be shown out of a text, the longest first, because one may be part of another. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret.length >= shortestSecret);
  return known
    .sort((a, b) => b.length - a.length)
    .reduce((hidden, secret) => hidden.replaceAll(secret, '***'), text);
}
