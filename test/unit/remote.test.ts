import { describe, expect, it } from 'vitest';
import { parsePushed } from '../../src/git/remote/remote.ts';
import { isSshAddress, remoteEnvironment } from '../../src/git/remote/remote-environment.ts';
import { explainFailure, hideCredentials, type Operation } from '../../src/git/remote/remote-errors.ts';

describe('errors from a remote', () => {
  it.each<[code: string, said: string, operation?: Operation]>([
    [
      'REMOTE_NOT_FOUND',
      "fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.",
    ],
    ['REMOTE_NOT_FOUND', "fatal: repository 'http://127.0.0.1/x.git/' not found"],
    ['REMOTE_NOT_FOUND', 'ERROR: Repository not found.\nfatal: Could not read from remote repository.'],
    ['REMOTE_NOT_FOUND', 'fatal: remote error: access denied or repository not exported: /x'],
    ['REMOTE_REFUSED', 'fatal: remote error: access denied or repository not exported: /x', 'push'],
    ['REMOTE_REFUSED', "fatal: could not read Username for 'https://h': terminal prompts disabled"],
    ['REMOTE_REFUSED', "fatal: Authentication failed for 'https://h/x.git/'"],
    [
      'REMOTE_REFUSED',
      'git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.',
    ],
    ['REMOTE_REFUSED', 'Host key verification failed.\nfatal: Could not read from remote repository.'],
    [
      'REMOTE_REFUSED',
      "fatal: unable to access 'https://h/x/': The requested URL returned error: 403",
      'push',
    ],
    ['REMOTE_REFUSED', 'fatal: mismatched algorithms: client sha256; server sha1', 'push'],
    ['REMOTE_UNREACHABLE', "fatal: unable to access 'https://h/x/': Could not resolve host: h"],
    [
      'REMOTE_UNREACHABLE',
      'ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.',
    ],
    [
      'REMOTE_UNREACHABLE',
      'fatal: unable to connect to 127.0.0.1:\n127.0.0.1[0: 127.0.0.1]: errno=Connection refused',
    ],
    ['REMOTE_UNREACHABLE', 'error: RPC failed; curl 18 transfer closed\nfatal: early EOF', 'fetch'],
    ['REMOTE_UNREACHABLE', "fatal: unable to access 'https://h/x/': The requested URL returned error: 503"],
    ['REMOTE_UNREACHABLE', 'fatal: the remote end hung up unexpectedly', 'push'],
    ['WRITE_FAILED', 'fatal: write error: No space left on device', 'fetch'],
    ['GIT_FAILED', 'fatal: bad object refs/orchestration/epics/x', 'push'],
  ])('%s: %s', (code, said, operation = 'ask') => {
    const error = explainFailure(operation, 'origin', said);
    expect(error).toMatchObject({ code, hint: expect.any(String) });
  });

  it("show the server's message on one safe line, without passwords", () => {
    const said =
      'remote: \u001b[31mNo snapshots\u001b[0m on Fridays\nremote: ask https://a:secret@h/x\nfatal: error: 403';
    const { message, data } = explainFailure('push', 'https://me:secret@h/x', said);
    expect(message).toBe('https://h/x refused: [31mNo snapshots[0m on Fridays ask https://h/x');
    expect(JSON.stringify(data)).not.toContain('secret');
    expect(hideCredentials('git@github.com:a/b.git')).toBe('git@github.com:a/b.git');
    expect(hideCredentials(`https://me:${'a@b'}@h/x@v2`)).toBe('https://h/x@v2');
  });

  it('give a result for each pushed ref', () => {
    const stdout = [
      'To file:///hub',
      '*\t1111:refs/a\t[new reference]',
      ' \t1111:refs/b\t1111..2222',
      '=\t1111:refs/c\t[up to date]',
      '!\t1111:refs/d\t[rejected] (fetch first)',
      '!\t1111:refs/e\t[remote rejected] (pre-receive hook declined)',
      '!\t1111:refs/f\t[remote rejected] (cannot lock ref)',
      'Done',
    ].join('\n');
    const pushed = parsePushed(stdout, 'remote: Closed today\n');
    expect([...pushed.values()].map(({ ref, how }) => `${ref} ${how}`)).toEqual([
      'refs/a done',
      'refs/b done',
      'refs/c done',
      'refs/d moved',
      'refs/e refused',
      'refs/f moved',
    ]);
    expect(pushed.get('refs/e')?.reason).toBe('pre-receive hook declined: Closed today');
  });

  it('count the worst result when pushing to two addresses', () => {
    const pushed = parsePushed(
      'To a\n \t1:refs/a\t1..2\nDone\nTo b\n!\t1:refs/a\t[rejected] (fetch first)\nDone\n',
      '',
    );
    expect(pushed.get('refs/a')?.how).toBe('moved');
  });
});

describe('the environment of a git that talks to a remote', () => {
  const inHook = {
    GIT_DIR: '.git',
    GIT_INDEX_FILE: 'i',
    GIT_QUARANTINE_PATH: 'q',
    GIT_SSL_CAINFO: '/ca',
    HOME: '/h',
  };

  it("never prompts, forgets a hook's repository, and keeps how servers are reached", () => {
    const environment = remoteEnvironment(null, { ...inHook, GIT_ASKPASS: 'gui', SSH_ASKPASS: 'gui' });
    expect(environment).toMatchObject({
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '',
      SSH_ASKPASS: '',
      GIT_SSH_COMMAND: expect.stringContaining('-o BatchMode=yes'),
      GIT_SSL_CAINFO: '/ca',
      LC_ALL: 'C',
    });
    for (const name of ['GIT_DIR', 'GIT_INDEX_FILE', 'GIT_QUARANTINE_PATH'])
      expect(environment).not.toHaveProperty(name);
  });

  it.each([
    [{ GIT_SSH_COMMAND: 'ssh -i key' }, null, /^ssh -i key -o BatchMode=yes/],
    [{ GIT_SSH_COMMAND: '"/my bin/ssh" -v' }, null, /^"\/my bin\/ssh" -v -o BatchMode=yes/],
    [{}, 'ssh -F config', /^ssh -F config -o BatchMode=yes/],
    [{ GIT_SSH_COMMAND: 'plink -batch' }, 'ssh', /^plink -batch$/],
    [{ GIT_SSH: '/usr/bin/own' }, null, undefined],
  ])('keeps the way the user calls ssh: %o %s', (inherited, configured, expected) => {
    const { GIT_SSH_COMMAND: command } = remoteEnvironment(configured, inherited);
    if (expected === undefined) expect(command).toBeUndefined();
    else expect(command).toMatch(expected);
  });

  it('recognises ssh addresses', () => {
    for (const url of ['git@h:x.git', 'ssh://h/x', 'host:x', 'git+ssh://h/x'])
      expect(isSshAddress(url)).toBe(true);
    for (const url of ['https://h/x', '/a/b', './a:b', 'C:\\x', 'file:///x', 'git://h:1/x'])
      expect(isSshAddress(url)).toBe(false);
  });
});
