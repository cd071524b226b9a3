/*
 * Digests without node's own crypto: loading that takes longer than most of what a command does. A small WebAssembly
 * module (digest.wat) is ready in half a millisecond. What is long, a process that digests much, and a node without
 * WebAssembly still go to node.
 */

/** The module, assembled by the build. */
declare const __ORCH_DIGEST__: string;

export type Algorithm = 'sha1' | 'sha256';

/** What digest.wat exports. */
type Exports = {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly sha1: (end: number) => void;
  readonly sha256: (end: number) => void;
  readonly adler32: (end: number) => number;
};

/** As much of WebAssembly as is needed: node's types leave it to the browser's. */
type Assembly = {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
};

type Machine = Exports & {
  readonly bytes: Buffer;
  /** The state of a digest, a word each. */
  readonly state: Uint32Array;
};

/** Where in the module's memory what is digested begins, and how much may follow. */
const start = 1_024;
const mostBytes = 64_000;

const beginnings: { readonly [A in Algorithm]: readonly number[] } = {
  sha1: [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0],
  sha256: [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
};

/** Who has digested so much goes on for long enough to load node's own, which is several times as fast. */
const worthLoading = 512 * 1_024;
let digested = 0;

/** Null where WebAssembly cannot be had, undefined while nobody asked. */
let machine: Machine | null | undefined;

function openMachine(): Machine | null {
  if (machine === undefined) machine = tryToOpen();
  return machine;
}

function tryToOpen(): Machine | null {
  const assembly: Assembly | undefined = Reflect.get(globalThis, 'WebAssembly');
  if (assembly === undefined) return null;
  try {
    const module = new assembly.Module(Buffer.from(__ORCH_DIGEST__, 'base64'));
    const { exports } = new assembly.Instance(module);
    const { buffer } = exports.memory;
    return { ...exports, bytes: Buffer.from(buffer), state: new Uint32Array(buffer, 576, 8) };
  } catch {
    return null; // no room for it, say: node does the same, more slowly
  }
}

/** The digest of bytes, or of a text in UTF-8, in hexadecimal. */
export function hash(algorithm: Algorithm, input: string | Uint8Array): string {
  // No character takes more than three bytes.
  const most = typeof input === 'string' ? 3 * input.length : input.length;
  const opened = most <= mostBytes && digested <= worthLoading ? openMachine() : null;
  if (opened === null) return process.getBuiltinModule('node:crypto').hash(algorithm, input);
  const { bytes, state } = opened;
  const size = put(bytes, input);
  digested += size;
  // A one, zeros, and the length in bits, up to the end of a block of 64 bytes.
  const end = start + ((size + 72) & ~63);
  bytes.fill(0, start + size, end);
  bytes[start + size] = 0x80;
  bytes.writeUInt32BE(8 * size, end - 4);
  const beginning = beginnings[algorithm];
  state.set(beginning);
  opened[algorithm](end);
  let digest = '';
  for (let word = 0; word < beginning.length; word++)
    digest += (state[word] ?? 0).toString(16).padStart(8, '0');
  return digest;
}

/** The checksum at the end of zlib's format; null where these bytes are too many, or there is no WebAssembly. */
export function adler32(input: Uint8Array): number | null {
  const opened = input.length <= mostBytes ? openMachine() : null;
  return opened && opened.adler32(start + put(opened.bytes, input)) >>> 0;
}

function put(bytes: Buffer, input: string | Uint8Array): number {
  if (typeof input === 'string') return bytes.write(input, start, 'utf8');
  bytes.set(input, start);
  return input.length;
}
