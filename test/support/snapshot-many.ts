// Takes snapshots one after the other, each of a file it has just written, and prints each commit once it is there.
// Bundled by the test: FOLDER COUNT NAME
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeSnapshot } from '../../src/git/snapshot/snapshot.ts';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { openOrch } from '../../src/orch.ts';

const [folder = '', count, name = ''] = process.argv.slice(2);

async function run(): Promise<void> {
  const orch = await openOrch({ cwd: folder });
  for (let index = 0; index < Number(count); index++) {
    writeFileSync(join(folder, name), `${index}\n`);
    const { commit } = await takeSnapshot(orch, {
      epic: parseEpicId('e'),
      session: parseSessionId('sess-test'),
      label: name,
      at: Date.now(),
      maxFileBytes: 1_000,
    });
    process.stdout.write(`${index} ${commit}\n`);
  }
  orch.close();
}

void run();
