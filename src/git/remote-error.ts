import { type ErrorCode, OrchError, writeFailed } from '../errors.ts';
import { cleanLine, cleanText } from '../text.ts';
import type { Millis } from '../types.ts';

/* What git says when it cannot reach a remote, in our words. Its messages are matched as they are under LC_ALL=C. */

export type Operation = 'ask' | 'fetch' | 'push';

const missing =
  /does not appear to be a git repository|repository '.*' (not found|does not exist)|repository not found|not a git repository|access denied or repository not exported|no such repository|error: 404|could not be found|No such remote/i;
const refused =
  /authentication failed|could not read (username|password)|terminal prompts disabled|permission( to .*)? denied|permission denied|error: 40[137]|access denied|not authori[sz]ed|unauthori[sz]ed|forbidden|host key verification failed|service not enabled|insufficient permission|dubious ownership|unsafe repository|hook declined|pre-receive|read-only|transport '.*' not allowed|mismatched algorithms|unexpected capabilities|too many authentication failures/i;
const unreachable =
  /could not resolve|unable to (connect|look up|access)|failed to connect|connection (refused|timed out|reset|closed|was)|network is unreachable|no route to host|operation timed out|early EOF|hung up|RPC failed|unexpected disconnect|could not read from remote repository|error: 5\d\d|unable to rewind|invalid index-pack output|bad band|protocol error|expected .* got|premature|broken pipe|SSL|TLS|gnutls|curl \d+/i;
const diskFull = /no space left on device|disk quota exceeded/i;

/** The other side can say as much as it likes; what went wrong stands at the end. */
const mostHeard = 32 * 1024;

/** Takes a name and a password out of an address. */
export function hideCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi, '$1');
}

/** What the other side itself said, on one line; null where it said nothing. */
export function serverWords(stderr: string): string | null {
  const heard = stderr.slice(-mostHeard).split(/[\r\n]+/);
  const lines = heard.flatMap((line) => /^remote: ?(.*)$/.exec(line)?.[1]?.trim() || []);
  const words = lines.filter((line) => !/^(Enumerating|Counting|Compressing|Total|Resolving)\b/.test(line));
  return words.length === 0 ? null : cleanLine(hideCredentials(words.join(' ')), 500);
}

/** Git's own last complaint. */
function gitWords(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== '' && !line.startsWith('remote:'));
  const said =
    lines.find((line) => /^(ssh|fatal|error):|denied|refused|verification failed/i.test(line)) ??
    lines[0] ??
    '';
  // Of a connection git says the reason on a line of its own.
  const reason = said.endsWith(':') ? (lines[lines.indexOf(said) + 1] ?? '') : '';
  return cleanLine(hideCredentials(`${said.replace(/^(fatal|error): /, '')} ${reason}`), 500);
}

/** Turns what git said into an error with a next step. */
export function explainFailure(operation: Operation, name: string, heard: string): OrchError {
  const stderr = heard.slice(-mostHeard);
  const remote = hideCredentials(name);
  const local = stderr.replace(/^remote:.*$/gm, '');
  if (diskFull.test(local) && operation !== 'push')
    return writeFailed(
      'what was fetched could not be stored',
      Object.assign(new Error(local), { code: 'ENOSPC' }),
    );
  const said = serverWords(stderr) ?? gitWords(stderr);
  const data = { remote, operation, stderr: cleanText(hideCredentials(stderr), 2_000) };
  const code = chooseCode(operation, stderr);
  const messages: { readonly [code in ErrorCode]?: readonly [message: string, hint: string] } = {
    REMOTE_NOT_FOUND: [
      `there is no repository at ${remote}: ${said}`,
      'Check its address with: git remote -v',
    ],
    REMOTE_REFUSED: [
      `${remote} refused: ${said}`,
      operation === 'push'
        ? 'Nothing is lost: all of it is still here. Whoever runs the server can say what it takes.'
        : 'See whether plain git gets in, with the same address: git ls-remote',
    ],
    REMOTE_UNREACHABLE: [
      `${remote} could not be reached: ${said}`,
      'Nothing is lost. Run the same command again once the connection is back.',
    ],
  };
  const [message, hint] = messages[code] ?? [
    `git could not ${operation === 'ask' ? 'ask' : `${operation} with`} ${remote}: ${said || 'it did not say why'}`,
    'Check the repository with: git fsck',
  ];
  return new OrchError(code, message, { hint, data });
}

function chooseCode(operation: Operation, stderr: string): ErrorCode {
  // A server that could be asked a moment ago, and now knows no such repository, lets nobody write to it.
  if (missing.test(stderr)) return operation === 'push' ? 'REMOTE_REFUSED' : 'REMOTE_NOT_FOUND';
  if (refused.test(stderr)) return 'REMOTE_REFUSED';
  return unreachable.test(stderr) ? 'REMOTE_UNREACHABLE' : 'GIT_FAILED';
}

export function tookTooLong(name: string, timeout: Millis): OrchError {
  const remote = hideCredentials(name);
  return new OrchError('REMOTE_UNREACHABLE', `${remote} did not answer within ${timeout / 1_000} seconds`, {
    hint: 'Nothing is lost. Give it more time with --timeout 10m, or try again later.',
    data: { remote, timeout },
  });
}

export function remoteNotFound(name: string, known: readonly string[]): OrchError {
  const remote = hideCredentials(name);
  return new OrchError('REMOTE_NOT_FOUND', `there is no remote ${remote} here`, {
    hint:
      known.length === 0
        ? 'Tell git where it is first: git remote add origin <address>'
        : `There is: ${known.join(', ')}`,
    data: { remote, known },
  });
}
