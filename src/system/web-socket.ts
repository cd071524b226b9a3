import type { Millis } from '../types.ts';

/** What a server said of each request, in their order; fewer where it left or took too long. */
export type Answers = readonly string[];

/**
 * Sends texts to a WebSocket server on a local socket, each after the first answer to the one before: `isAnswer` tells
 * an answer from whatever else the server says. Never fails: what was not answered is missing.
 */
export async function askOverSocket(
  path: string,
  texts: readonly string[],
  isAnswer: (text: string, index: number) => boolean,
  patience: Millis,
): Promise<Answers> {
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
      if (unread.length > mostBytes) return end();
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

/** A server that says more than this before it answers is not waited for. */
const mostBytes = 16 * 1024 * 1024;

// The key is there to tell caches from servers; on a local socket there are none.
const greeting = [
  'GET / HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: b3JjaC1vcmNoLW9yY2gtIQ==',
  '\r\n',
].join('\r\n');

/** One whole text, masked with zeros: a client has to mask, and nothing between the two could be misled. */
function writeFrame(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt8(0x81, 0);
  head.writeUInt8(0xfe, 1);
  head.writeUInt16BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/** The first frame; its text is null where it is no whole text. Null where it has not arrived yet. */
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
