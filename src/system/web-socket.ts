import type { Millis } from '../types.ts';

/**
 * Sends texts to a WebSocket server on a local socket, each after the answer to the one before, and returns the answers
 * in order. `isAnswer` tells answers from other messages. Never fails: unanswered texts are missing at the end.
 */
export async function askOverSocket(
  path: string,
  texts: readonly string[],
  isAnswer: (text: string, index: number) => boolean,
  patience: Millis,
): Promise<readonly string[]> {
  const { connect } = await import('node:net');
  return new Promise((resolve) => {
    const answers: string[] = [];
    const socket = connect(path);
    const end = () => {
      clearTimeout(waiting);
      socket.destroy();
      resolve(answers);
    };
    const waiting = setTimeout(end, patience);
    const sendNext = () => {
      const text = texts[answers.length];
      if (text === undefined) end();
      else socket.write(writeFrame(text));
    };
    let isOpen = false;
    let unread: Buffer = Buffer.alloc(0);
    socket.on('error', end).on('close', end);
    socket.on('connect', () => socket.write(greeting));
    socket.on('data', (bytes) => {
      unread = Buffer.concat([unread, bytes]);
      if (unread.length > maxUnread) return end();
      if (!isOpen) {
        const at = unread.indexOf('\r\n\r\n');
        if (at < 0) return;
        if (!unread.toString('latin1', 0, at).startsWith('HTTP/1.1 101 ')) return end();
        isOpen = true;
        unread = unread.subarray(at + 4);
        sendNext();
      }
      for (let frame = readFrame(unread); frame; frame = readFrame(unread)) {
        unread = unread.subarray(frame.length);
        if (frame.text === null || !isAnswer(frame.text, answers.length)) continue;
        answers.push(frame.text);
        sendNext();
      }
    });
  });
}

const maxUnread = 16 * 1024 * 1024;

// The key protects against caches, and a local socket has none.
const greeting = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: b3JjaC1vcmNoLW9yY2gtIQ==',
  '\r\n',
].join('\r\n');

/** Formats one complete text frame. The mask is zero: clients must mask, and no proxy is in between. */
function writeFrame(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt8(0x81, 0);
  head.writeUInt8(0xfe, 1);
  head.writeUInt16BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/** Reads the first frame, or null if it has not arrived; its text is null unless it is a complete text frame. */
function readFrame(bytes: Buffer): { readonly length: number; readonly text: string | null } | null {
  if (bytes.length < 2) return null;
  const short = bytes.readUInt8(1) & 0x7f;
  const from = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < from) return null;
  const size =
    short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < from + size) return null;
  const isText = bytes.readUInt8(0) === 0x81;
  return { length: from + size, text: isText ? bytes.toString('utf8', from, from + size) : null };
}
