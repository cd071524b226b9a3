import { posix } from 'node:path';
import { describeValue, value } from '../config/yaml/yaml-values.ts';

/** A path in the repository, written with `/`, that means the same on every system. */
export const filePath = value(
  'a path of a file in the repository, such as dist/app.js',
  readFilePath,
  (given) => (typeof given === 'string' ? `found ${describeValue(given)}, ${pathProblem(given)}` : null),
  { type: 'string' },
);

/** Reads such a path; undefined if it is none. */
export function readFilePath(given: unknown): string | undefined {
  return typeof given === 'string' && pathProblem(given) === null ? posix.normalize(given) : undefined;
}

export function pathProblem(text: string): string | null {
  if (/[\p{Control}\\:]/u.test(text)) return 'which is not a path on every system';
  if (posix.isAbsolute(text)) return 'which is not relative to the repository';
  const parts = posix.normalize(text).split('/');
  const [first] = parts;
  if (first === '..') return 'which leads outside the repository';
  if (parts.some((part) => part.toLowerCase() === '.git')) return "which is git's own";
  return text.trim() === '' || text.endsWith('/') || first === '.' ? 'which is not a file' : null;
}
