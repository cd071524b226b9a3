// Assembles the digests that orch computes itself, for the build and the tests.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import openWabt from 'wabt';

/** `src/digest.wat` as a WebAssembly module, in base64; a mistake in it ends the build. */
export async function assembleDigest(root) {
  const path = join(root, 'src', 'digest.wat');
  const wabt = await openWabt();
  const module = wabt.parseWat(path, readFileSync(path, 'utf8'));
  try {
    module.validate();
    return Buffer.from(module.toBinary({}).buffer).toString('base64');
  } finally {
    module.destroy();
  }
}
