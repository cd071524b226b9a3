/** Loaded when something is compressed or was: most of what orch reads and writes in a command is not. */
function zlib() {
  return process.getBuiltinModule('node:zlib');
}

export function deflate(bytes: Uint8Array): Buffer {
  return zlib().deflateSync(bytes, { level: 1 });
}

/**
 * The reverse; an error whose code begins with `Z_` where the bytes are torn, and `ERR_BUFFER_TOO_LARGE` where they
 * become more than `most`.
 */
export function inflate(bytes: Uint8Array, most: number): Buffer {
  return zlib().inflateSync(bytes, { maxOutputLength: most });
}
