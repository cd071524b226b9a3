import type { Child } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import { damaged, type GitObject, type ObjectKind, tooLarge } from '../engine.ts';
import { gitFailed, gitNotStarted } from '../run-git.ts';

type Request = {
  readonly oid: Oid;
  readonly most: number;
  resolve(object: GitObject): void;
  reject(error: Error): void;
};

/**
 * One `git cat-file --batch`, started at the first request and kept for the next.
 * It keeps this process alive only while a request is open, and ends with this process.
 */
export class CatFile {
  readonly #start: () => Child;
  #child: Child | null = null;
  #waiting: Request[] = [];
  #chunks: Buffer[] = [];
  #size = 0;
  #needed = 0;
  #stderr = '';
  /** Why we ended it. */
  #refusal: Error | null = null;

  constructor(start: () => Child) {
    this.#start = start;
  }

  read(oid: Oid, most: number): Promise<GitObject> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#open(); // before the request is queued, because this may throw
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
    child.stdin.on('error', () => {}); // it ended early; 'close' reports it
    child.on('error', (error) => this.#fail(child, gitNotStarted(error)));
    child.on('close', (status) => this.#fail(child, null, status));
    return child;
  }

  /** Sets whether the child keeps this process alive. */
  #hold(held: boolean): void {
    const child = this.#child;
    if (child === null) return;
    for (const handle of [child, child.stdin, child.stdout, child.stderr]) {
      // The pipes of a child are sockets with ref and unref, which their types do not show.
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

  /** Takes one complete answer off the buffer, if there is one. */
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

  /** Handles its end: the first open request caused it, the others are sent again. */
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
