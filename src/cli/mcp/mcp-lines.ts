import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';

/** Far more than any message of an agent needs. */
const maxLineBytes = 1024 * 1024;
/** A client with this much unread has stopped reading. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** A client with more open requests than this is not reading its answers. */
const maxUnanswered = 64;
/** How long the last answers wait for a client that has closed its end to read them. */
const lastWait = 2_000;

type Problem = { readonly code: number; readonly message: string };

const notJson: Problem = { code: -32700, message: 'Parse error: this line is not JSON' };
const notAMessage: Problem = { code: -32600, message: 'Invalid request: not a JSON-RPC 2.0 message' };
const tooLong: Problem = {
  code: -32600,
  message: `Invalid request: a line is longer than ${maxLineBytes} bytes`,
};
const tooMany: Problem = {
  code: -32000,
  message: `More than ${maxUnanswered} requests are waiting for an answer: send this one again later`,
};

function parseLine(line: string): JSONRPCMessage | { readonly problem: Problem } {
  try {
    const message: unknown = JSON.parse(line);
    const isMessage =
      isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message);
    return isMessage ? message : { problem: notAMessage };
  } catch {
    return { problem: notJson };
  }
}

/**
 * Sends and receives one JSON-RPC message per line. The SDK's own transport silently drops lines it cannot parse, and
 * buffers without limit what a client does not read; this one answers such lines with an error, and ends at a limit.
 */
export class Lines implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Resolves when the client has left and its open requests are answered. */
  readonly closed: Promise<void>;

  readonly #input: Readable;
  readonly #output: Writable;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #hasEnded = false;
  #isClosed = false;
  #unanswered = new Set<RequestId>();
  #resolveClosed: () => void = () => undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  async start(): Promise<void> {
    this.#output.on('error', () => this.#end()); // the client is gone
    this.#input.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#input.on('error', () => this.#finish());
    this.#input.on('end', () => this.#finish());
    this.#input.on('close', () => this.#finish());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return;
    if (isJSONRPCResponse(message) && message.id !== undefined) this.#unanswered.delete(message.id);
    this.#write(message);
    if (this.#hasEnded && this.#unanswered.size === 0) this.#end();
  }

  async close(): Promise<void> {
    this.#end();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0 && !this.#isClosed; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(from, at)]);
      [this.#rest, this.#restBytes] = [[], 0];
      from = at + 1;
      if (line.length > maxLineBytes) this.#refuseLength();
      else this.#read(line.toString('utf8').trim());
    }
    if (this.#isClosed) return;
    this.#rest.push(chunk.subarray(from));
    this.#restBytes += chunk.length - from;
    if (this.#restBytes > maxLineBytes) this.#refuseLength();
  }

  /** The start of the next message is unknown, so the connection ends. */
  #refuseLength(): void {
    this.#refuse(null, tooLong);
    this.#end();
  }

  #read(line: string): void {
    if (line === '') return;
    const message = parseLine(line);
    if ('problem' in message) this.#refuse(null, message.problem);
    else if (!isJSONRPCRequest(message)) {
      // A cancelled request gets no answer.
      const isCancelled = isJSONRPCNotification(message) && message.method === 'notifications/cancelled';
      const id = isCancelled ? message.params?.requestId : undefined;
      if (typeof id === 'string' || typeof id === 'number') this.#unanswered.delete(id);
      this.onmessage?.(message);
    } else if (this.#unanswered.size >= maxUnanswered) this.#refuse(message.id, tooMany);
    else {
      this.#unanswered.add(message.id);
      this.onmessage?.(message);
    }
  }

  #refuse(id: RequestId | null, error: Problem): void {
    this.#write({ jsonrpc: '2.0', id, error });
  }

  #write(message: object): void {
    if (this.#isClosed) return;
    this.#output.write(`${JSON.stringify(message)}\n`);
    if (this.#output.writableLength > maxUnreadBytes) this.#end();
  }

  /** The client sends no more, but its open requests are still answered. */
  #finish(): void {
    this.#hasEnded = true;
    if (this.#unanswered.size === 0) this.#end();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.pause();
    this.#rest = [];
    this.onclose?.();
    const timer = setTimeout(this.#resolveClosed, lastWait);
    this.#output.write('', () => {
      clearTimeout(timer);
      this.#resolveClosed();
    });
  }
}
