// A process of its own that saves checkpoints when it is told to: node writer.js FOLDER EPIC COUNT
import { openOrch, saveCheckpoint } from '../../dist/index.js';

const [folder, epicId, count] = process.argv.slice(2);
const orch = await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } });
process.on('message', async () => {
  for (let index = 0; index < Number(count); index++) {
    await saveCheckpoint({ epicId, reason: `${process.pid} ${index}` }, orch);
  }
  orch.close();
  process.disconnect();
});
process.send('ready');
