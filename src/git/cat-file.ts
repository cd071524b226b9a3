import type { Child } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import { damaged, type GitObject, type ObjectKind, tooLarge } from './engine.ts';
import { gitFailed, gitNotStarted } from './spawn.ts';

type Request = {
  readonly oid: Oid;
  readonly most: number;
  resolve(object: GitObject): void;
  reject(error: Error): void;
};

/**
 * One `git cat-file --batch`, started at the first question and kept for the next.
 * While no question is open it does not keep this process alive; when this process ends, so does it.
 */
export class CatFile {
  readonly #start: () => Child;
  #child: Child | null = null;
  #waiting: Request[] = [];
  #chunks: Buffer[] = [];
  #size = 0;
  #needed = 0;
  #stderr = '';
  /** Why it was ended by us. */
  #refusal: Error | null = null;

  constructor(start: () => Child) {
    this.#start = start;
  }

  read(oid: Oid, most: number): Promise<GitObject> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#open(); // before the question is kept: it may not start
      this.#waiting.push({ oid, most, resolve, reject });
      if (this.#waiting.length === 1) this.#hold(true);
      this.#child.stdin.write(`${oid}\n`);
    });
  }

  close(): void {
    this.#child?.stdin.end();
    this.#child = null;
  }

  #open(): Child {
    const child = this.#start();
    this.#chunks = [];
    this.#size = 0;
    this.#needed = 0;
    this.#stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (child === this.#child) this.#take(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-4_000);
    });
    child.stdin.on('error', () => {}); // it ended early: 'close' tells why
    child.on('error', (error) => this.#fail(child, gitNotStarted(error)));
    child.on('close', (status) => this.#fail(child, null, status));
    return child;
  }

  /** Does the open question keep this process alive? */
  #hold(held: boolean): void {
    const child = this.#child;
    if (child === null) return;
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
      // The pipes of a child are sockets, which can be let go of; the stream types do not say so.
      const { ref, unref } = handle as { ref?(): void; unref?(): void };
      (held ? ref : unref)?.call(handle);
    }
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size > 0 && this.#size >= this.#needed && this.#answer());
    if (this.#waiting.length === 0) this.#hold(false);
  }

  /** Reads one whole answer off the front, if there is one. */
  #answer(): boolean {
    const bytes =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
    this.#chunks = [bytes];
    const newline = bytes.indexOf(0x0a);
    if (newline < 0) return false;
    const [, kind, length] = bytes.toString('latin1', 0, newline).split(' ');
    const size = length === undefined ? 0 : Number(length);
    const end = length === undefined ? newline + 1 : newline + 1 + size + 1;
    const [asked] = this.#waiting;
    if (asked && size > asked.most) {
      this.#refusal = tooLarge(asked.oid, asked.most);
      this.#child?.kill();
      return false;
    }
    this.#needed = end;
    if (bytes.length < end) return false;
    const request = this.#waiting.shift();
    this.#chunks = [bytes.subarray(end)];
    this.#size = bytes.length - end;
    this.#needed = 0;
    if (request === undefined) return true;
    if (length === undefined) request.reject(damaged(request.oid, kind ?? 'unreadable'));
    else
      request.resolve({ kind: kind as ObjectKind, bytes: Buffer.from(bytes.subarray(newline + 1, end - 1)) });
    return true;
  }

  /** It ended. What it was asked first is what it died of; the rest is asked again. */
  #fail(child: Child, error: Error | null, status: number | null = null): void {
    if (child !== this.#child) return;
    this.#child = null;
    const [first, ...rest] = this.#waiting;
    this.#waiting = [];
    if (first === undefined) return;
    const setup = /dubious ownership|not a git repository|bad config|unknown repository extension/i;
    if (error || setup.test(this.#stderr)) {
      const reason = error ?? gitFailed(['cat-file'], { status, stderr: this.#stderr });
      for (const request of [first, ...rest]) request.reject(reason);
      return;
    }
    first.reject(this.#refusal ?? damaged(first.oid, 'damaged', new Error(this.#stderr.trim())));
    this.#refusal = null;
    for (const { oid, most, resolve, reject } of rest) this.read(oid, most).then(resolve, reject);
  }
}
