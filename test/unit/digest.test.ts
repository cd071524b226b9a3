import { hash as hashOfNode, randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { adler32, hash } from '../../src/digest.ts';

const algorithms = ['sha1', 'sha256'] as const;

describe.each(algorithms)('%s', (algorithm) => {
  it('is what node says, for bytes of any length', () => {
    const around = [63_999, 64_000, 64_001, 70_000, 1_000_000];
    for (const length of [...Array(300).keys(), ...around]) {
      const bytes = randomBytes(length);
      expect(hash(algorithm, bytes), `${length} bytes`).toBe(hashOfNode(algorithm, bytes));
    }
  });

  it.each(['', 'abc', 'Grüße, 界 und 🚀', '\ud800 alone', '\u0000', 'ü'.repeat(21_333), '界'.repeat(30_000)])(
    'is what node says of a text in UTF-8',
    (text) => {
      expect(hash(algorithm, text)).toBe(hashOfNode(algorithm, text));
    },
  );
});

describe('adler32', () => {
  it('is what zlib puts at the end', () => {
    const all = [0, 1, 2, 4_095, 4_096, 4_097, 8_193, 32_757].map((length) => randomBytes(length));
    for (const bytes of [...all, Buffer.alloc(64_000, 0xff)])
      expect(adler32(bytes), `${bytes.length} bytes`).toBe(
        deflateSync(bytes).readUInt32BE(deflateSync(bytes).length - 4),
      );
  });

  it('is left to zlib past what is stored as it is', () => {
    expect(adler32(Buffer.alloc(64_001))).toBe(null);
  });
});
