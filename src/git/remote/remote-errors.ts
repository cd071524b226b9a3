import { type ErrorCode, OrchError, writeFailed } from '../../errors.ts';
import { cleanLine, cleanText } from '../../text.ts';
import type { Millis } from '../../types.ts';

/* Turns git's messages about remotes into errors with a next step. They are matched as printed under LC_ALL=C. */

export type Operation = 'ask' | 'fetch' | 'push';

const missing =
  /does not appear to be a git repository|repository '.*' (not found|does not exist)|repository not found|not a git repository|access denied or repository not exported|no such repository|error: 404|could not be found|No such remote/i;
const refused =
  /authentication failed|could not read (username|password)|terminal prompts disabled|permission( to .*)? denied|permission denied|error: 40[137]|access denied|not authori[sz]ed|unauthori[sz]ed|forbidden|host key verification failed|service not enabled|insufficient permission|dubious ownership|unsafe repository|hook declined|pre-receive|read-only|transport '.*' not allowed|mismatched algorithms|unexpected capabilities|too many authentication failures/i;
const unreachable =
  /could not resolve|unable to (connect|look up|access)|failed to connect|connection (refused|timed out|reset|closed|was)|network is unreachable|no route to host|operation timed out|early EOF|hung up|RPC failed|unexpected disconnect|could not read from remote repository|error: 5\d\d|unable to rewind|invalid index-pack output|bad band|protocol error|expected .* got|premature|broken pipe|SSL|TLS|gnutls|curl \d+/i;
const diskFull = /no space left on device|disk quota exceeded/i;

/** A server can print any amount; the error is at the end. */
const maxStderr = 32 * 1024;

/** Removes user name and password from an address. */
export function hideCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/]+@/gi, '$1');
}

/** Finds the server's own message, on one line; null if there is none. */
export function findServerMessage(stderr: string): string | null {
  const printed = stderr.slice(-maxStderr).split(/[\r\n]+/);
  const lines = printed.flatMap((line) => /^remote: ?(.*)$/.exec(line)?.[1]?.trim() || []);
  const words = lines.filter((line) => !/^(Enumerating|Counting|Compressing|Total|Resolving)\b/.test(line));
  return words.length === 0 ? null : cleanLine(hideCredentials(words.join(' ')), 500);
}

function findGitMessage(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== '' && !line.startsWith('remote:'));
  const message =
    lines.find((line) => /^(ssh|fatal|error):|denied|refused|verification failed/i.test(line)) ??
    lines[0] ??
    '';
  // For a failed connection, git prints the reason on the next line.
  const reason = message.endsWith(':') ? (lines[lines.indexOf(message) + 1] ?? '') : '';
  return cleanLine(hideCredentials(`${message.replace(/^(fatal|error): /, '')} ${reason}`), 500);
}

/** Turns git's output into an error with a next step. */
export function explainFailure(operation: Operation, name: string, output: string): OrchError {
  const stderr = output.slice(-maxStderr);
  const remote = hideCredentials(name);
  const local = stderr.replace(/^remote:.*$/gm, '');
  if (diskFull.test(local) && operation !== 'push')
    return writeFailed(
      'the fetched objects could not be stored',
      Object.assign(new Error(local), { code: 'ENOSPC' }),
    );
  const reason = findServerMessage(stderr) ?? findGitMessage(stderr);
  const data = { remote, operation, stderr: cleanText(hideCredentials(stderr), 2_000) };
  const code = chooseCode(operation, stderr);
  const messages: { readonly [code in ErrorCode]?: readonly [message: string, hint: string] } = {
    REMOTE_NOT_FOUND: [
      `there is no repository at ${remote}: ${reason}`,
      'Check its address with: git remote -v',
    ],
    REMOTE_REFUSED: [
      `${remote} refused: ${reason}`,
      operation === 'push'
        ? 'Nothing is lost: everything is still here. Ask its administrator what the server accepts.'
        : 'Check whether plain git can access the same address: git ls-remote',
    ],
    REMOTE_UNREACHABLE: [
      `${remote} could not be reached: ${reason}`,
      'Nothing is lost. Run the same command again once the connection is back.',
    ],
  };
  const [message, hint] = messages[code] ?? [
    `git ${operation === 'ask' ? 'ls-remote' : operation} failed for ${remote}: ${reason || 'no reason given'}`,
    'Check the repository with: git fsck',
  ];
  return new OrchError(code, message, { hint, data });
}

function chooseCode(operation: Operation, stderr: string): ErrorCode {
  // A server that answered a moment ago and now denies that the repository exists does not allow writing to it.
  if (missing.test(stderr)) return operation === 'push' ? 'REMOTE_REFUSED' : 'REMOTE_NOT_FOUND';
  if (refused.test(stderr)) return 'REMOTE_REFUSED';
  return unreachable.test(stderr) ? 'REMOTE_UNREACHABLE' : 'GIT_FAILED';
}

export function remoteTimedOut(name: string, timeout: Millis): OrchError {
  const remote = hideCredentials(name);
  return new OrchError('REMOTE_UNREACHABLE', `${remote} did not answer within ${timeout / 1_000} seconds`, {
    hint: 'Nothing is lost. Give it more time with --timeout 10m, or try again later.',
    data: { remote, timeout },
  });
}

export function remoteNotFound(name: string, known: readonly string[]): OrchError {
  const remote = hideCredentials(name);
  return new OrchError('REMOTE_NOT_FOUND', `this repository has no remote ${remote}`, {
    hint:
      known.length === 0
        ? 'Add one first: git remote add origin <address>'
        : `Known remotes: ${known.join(', ')}`,
    data: { remote, known },
  });
}
