/** Loaded on first use, because many commands neither read nor write an object. */
function zlib() {
  return process.getBuiltinModule('node:zlib');
}

/** Compresses in zlib's format, fast rather than small. */
export function deflate(bytes: Uint8Array): Buffer {
  return zlib().deflateSync(bytes, { level: 1 });
}

/**
 * Decompresses. Throws an error whose code starts with `Z_` if the bytes are damaged, and `ERR_BUFFER_TOO_LARGE` if
 * the result is larger than `most`.
 */
export function inflate(bytes: Uint8Array, most: number): Buffer {
  return zlib().inflateSync(bytes, { maxOutputLength: most });
}
