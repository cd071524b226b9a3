/** Loaded when something is compressed or was: most of what orch reads and writes in a command is not. */
function zlib() {
  return process.getBuiltinModule('node:zlib');
}

export function deflate(bytes: Uint8Array): Buffer {
  return zlib().deflateSync(bytes, { level: 1 });
}

/** The reverse; an error whose code begins with `Z_` where the bytes are torn. */
export function inflate(bytes: Uint8Array): Buffer {
  return zlib().inflateSync(bytes);
}
