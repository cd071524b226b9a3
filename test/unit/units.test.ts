import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText, cutBytes } from '../../src/text.ts';
import {
  formatAge,
  formatInstant,
  formatMicros,
  formatSize,
  formatUsd,
  parseDuration,
  parseMicros,
  parseSize,
  parseUsd,
  toMicros,
  toUsd,
} from '../../src/units.ts';

describe('money', () => {
  it('is exact through every form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999_999 }), (micros) => {
        expect(parseMicros(formatMicros(micros))).toBe(micros);
        expect(toMicros(toUsd(micros))).toBe(micros);
      }),
    );
    expect(formatMicros(4_100_000)).toBe('4.100000');
    expect(formatUsd(4_100_000)).toBe('$4.10');
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e15])('refuses %d', (usd) => {
    expect(() => toMicros(usd)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it.each(['', '1', '1.0', '-1.000000', '1.0000000', '١.000000', '1e3'])(
    'does not read %j from a trailer',
    (text) => {
      expect(parseMicros(text)).toBeNull();
    },
  );
});

describe('dollars as people write them', () => {
  it.each([
    ['5', 5_000_000],
    ['$5.50', 5_500_000],
    ['.25', 250_000],
    ['0', 0],
    ['1.005', 1_005_000],
    ['0.30000000', 300_000],
    ['999999999.999999', 999_999_999_999_999],
  ])('%s', (text, micros) => {
    expect(parseUsd(text)).toBe(micros);
  });

  it.each(['', '$', '.', '5.', '-5', '+5', '1e3', 'NaN', '1,000', '0.0000001', '1000000000', '٥', '5 USD'])(
    'not %j',
    (text) => {
      expect(parseUsd(text)).toBeNull();
    },
  );

  it('is the reverse of the exact form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999_999 }), (micros) => {
        expect(parseUsd(formatMicros(micros))).toBe(micros);
      }),
    );
  });
});

describe('sizes', () => {
  it.each([
    ['10MB', 10_485_760],
    ['1.5 KB', 1_536],
    ['2gb', 2_147_483_648],
    ['4096', 4_096],
    ['10B', 10],
    ['10M', null],
    ['-1', null],
    ['', null],
  ])('%s is %s bytes', (text, expected) => {
    expect(parseSize(text)).toBe(expected);
  });
});

describe('time', () => {
  it.each([
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['1.5s', 1_500],
    ['10 ms', 10],
    ['1d', 86_400_000],
    ['1h30m', 5_400_000],
    ['1d 2h', 93_600_000],
    ['30m1h', null],
    ['5m5m', null],
    ['1.2.3s', null],
    ['15', null],
    ['m', null],
    ['-5m', null],
  ])('%s is %s ms', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each([
    [0, 'now'],
    [59_999, '59s'],
    [60_000, '1m'],
    [47 * 3_600_000, '47h'],
    [48 * 3_600_000, '2d'],
  ])('%d ms ago is %s', (elapsed, expected) => {
    expect(formatAge(elapsed)).toBe(expected);
  });

  it('is stored in whole seconds, UTC', () => {
    expect(formatInstant(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z');
  });
});

describe('outside text', () => {
  it('is cut at a character, within its bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 3, max: 40 }), (text, bytes) => {
        const cut = cutBytes(text, bytes);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
        expect(cut).not.toContain('\uFFFD');
        if (Buffer.byteLength(text) <= bytes) expect(cut).toBe(text);
      }),
    );
  });

  it('I9: loses what could fool a terminal or a reader, and stays the same when cleaned again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const clean = cleanText(text);
        expect(clean).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/);
        expect(clean.isWellFormed()).toBe(true);
        expect(cleanText(clean)).toBe(clean);
      }),
    );
  });
});

it('sizes are short, for people', () => {
  const shown = [0, 812, 1_024, 3_500, 12 * 1024 ** 2, 1024 ** 3, 5 * 1024 ** 4].map(formatSize);
  expect(shown).toEqual(['0 B', '812 B', '1.0 KB', '3.4 KB', '12 MB', '1.0 GB', '5.0 TB']);
});
