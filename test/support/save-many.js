// Saves checkpoints one after the other, and prints the id of each once it is acknowledged.
// usage: save-many.js FOLDER EPIC COUNT NAME ENGINE
import { openOrch, saveCheckpoint } from '../../dist/index.js';

const [, , cwd, epicId, count, name, engine = 'auto'] = process.argv;
const orch = await openOrch({ cwd, engine });
for (let index = 0; index < Number(count); index++) {
  const facts = [{ kind: 'note', id: `${name}-${index}`, text: `note ${index} of ${name}` }];
  const { id } = await saveCheckpoint({ epicId, facts }, orch);
  process.stdout.write(`${id} ${name}-${index}\n`);
}
orch.close();
