import { constants } from 'node:fs';
import { resolve } from 'node:path';
import type { Receiver } from '../config/load.ts';
import { sign } from '../digest.ts';
import { messageOf } from '../errors.ts';
import { mainCheckout } from '../git/worktree/worktrees-folder.ts';
import type { Orch } from '../orch.ts';
import { type Disk, readFrom, statIfThere, writeAll } from '../system/disk.ts';
import { sendRequest } from '../system/http.ts';
import { run } from '../system/process/capture.ts';
import { type Environment, inheritedEnvironment } from '../system/process/spawn.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatInstant } from '../units.ts';
import type { DeliveryResult } from './decide-delivery.ts';
import { formatNotice, type Notice } from './notice.ts';

/** For one attempt. */
export const timeout: Millis = 10_000;
const shownLength = 200;

/** Tells a receiver once. `isFirst`: has it never been tried before? Nothing that it reports contains a secret. */
export async function sendTo(
  orch: Orch,
  { to }: Receiver,
  notice: Notice,
  isFirst: boolean,
): Promise<DeliveryResult> {
  const env = inheritedEnvironment();
  const top = mainCheckout(orch.repository);
  try {
    switch (to.kind) {
      case 'webhook':
        return await post(orch, to, notice, env);
      case 'command':
        return await runCommand(to.run, notice, top, env);
      case 'file':
        await append(orch.disk, resolve(top, to.path), formatNotice(notice), isFirst);
        return { how: 'done' };
    }
  } catch (error) {
    return { how: 'failed', problem: cleanLine(messageOf(error), shownLength) };
  }
}

async function post(
  { clock, redact }: Orch,
  { url: written, secret: name }: Extract<Receiver['to'], { kind: 'webhook' }>,
  notice: Notice,
  env: Environment,
): Promise<DeliveryResult> {
  const url = written.startsWith('$') ? (env[written.slice(1)] ?? '') : written;
  if (url === '') return { how: 'failed', problem: `${written.slice(1)} is not set in the environment` };
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    return { how: 'failed', problem: `${written} holds no web address` };
  const secret = name === null ? null : (env[name] ?? '');
  // Unsigned, it could not be told from what anyone else sends.
  if (secret === '') return { how: 'failed', problem: `${name} is not set in the environment` };
  const body = formatNotice(notice);
  const now = Math.floor(clock.now() / 1_000);
  const answer = await sendRequest({
    method: 'POST',
    url,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'orch',
      'Orch-Event': notice.id,
      ...(secret !== null && { 'Orch-Signature': `t=${now},v1=${sign(secret, `${now}.${body}`)}` }),
    },
    body,
    connectTimeout: timeout,
    timeout,
    signal: new AbortController().signal,
  });
  if (answer.how === 'aborted') return { how: 'failed', problem: 'it was interrupted' };
  if (answer.how !== 'answered') return { how: 'failed', problem: answer.problem };
  const { status, headers } = answer;
  const said = await redact(secret === null ? answer.text : answer.text.replaceAll(secret, '…'));
  const text = cleanLine(said.replaceAll(url, '…'), shownLength);
  return { how: 'answered', status, retryAfter: [headers['retry-after']].flat()[0] ?? null, text };
}

async function runCommand(
  command: string | readonly string[],
  notice: Notice,
  cwd: string,
  env: Environment,
): Promise<DeliveryResult> {
  const { id, kind, at, epic, task, text, next } = notice;
  const end = await run({
    command,
    cwd,
    env: {
      ...env,
      // It is no part of the session whose supervisor starts it.
      ...{ ORCH_SESSION: undefined, ORCH_EPIC: undefined, ORCH_BACKGROUND: undefined },
      ...{ ORCH_EVENT_KIND: kind, ORCH_EVENT_AT: formatInstant(at), ORCH_EVENT_EPIC: epic },
      ...{ ORCH_EVENT_TASK: task, ORCH_EVENT_TEXT: text, ORCH_EVENT_NEXT: next },
    },
    marker: `ORCH_EVENT_ID=${id}`,
    timeout,
    input: `${formatNotice(notice)}\n`,
    isGuarded: true,
    onOutput: () => {},
  });
  switch (end.how) {
    case 'exited':
      return end;
    case 'signalled':
      return { how: 'failed', problem: `was ended by ${end.signal}` };
    case 'not_started':
      return { how: 'failed', problem: end.reason };
    default:
      return { how: 'failed', problem: `did not end within ${timeout / 1_000} s` };
  }
}

/** A line that an earlier attempt has appended is not further from the end. */
const searchedBytes = 4 * 1024 * 1024;

/** Appends a line, unless an attempt that was cut off has. */
async function append(disk: Disk, path: string, line: string, isFirst: boolean): Promise<void> {
  const size = statIfThere(path)?.size ?? 0;
  const from = Math.max(0, size - (isFirst ? 1 : searchedBytes));
  const end = size === 0 ? '' : (readFrom(path, from)?.bytes.toString('utf8') ?? '');
  if (!isFirst && end.split('\n').includes(line)) return;
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = disk.open(path, O_APPEND | O_CREAT | O_WRONLY, 0o644);
  try {
    // Whatever cut the last line short, this one starts on its own.
    writeAll(disk, fd, Buffer.from(`${end === '' || end.endsWith('\n') ? '' : '\n'}${line}\n`));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}
