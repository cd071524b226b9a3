import fs from 'node:fs';
import { join } from 'node:path';
import { loadInternals } from './internals.js';
import { compare, measure } from './measure.js';
import { makeFolder, removeFolder } from './scratch.js';

const megabyte = 1_048_576;
let written = 0;

/** A message in three lines while it grows, and what a tool answered: about 12 KB, as in real transcripts. */
function* formatTurn() {
  const id = `msg_${++written}`;
  const text = 'const result = await readTheFile(path); // and so on\n'.repeat(30);
  for (const output of [1, 1, 400]) {
    const usage = {
      input_tokens: 3,
      output_tokens: output,
      cache_read_input_tokens: 90_000,
      cache_creation_input_tokens: 700,
      cache_creation: { ephemeral_5m_input_tokens: 700, ephemeral_1h_input_tokens: 0 },
    };
    const message = { id, model: 'claude-sonnet-4-5-20250929', content: [{ type: 'text', text }], usage };
    yield { type: 'assistant', sessionId: 'bench', uuid: `${id}-${output}`, requestId: `req_${id}`, message };
  }
  yield { type: 'user', sessionId: 'bench', toolUseResult: text.repeat(4) };
}

function formatMegabyte() {
  const lines = [];
  for (let length = 0; length < megabyte; ) {
    for (const line of formatTurn()) {
      lines.push(`${JSON.stringify(line)}\n`);
      length += lines.at(-1).length;
    }
  }
  return Buffer.from(lines.join(''));
}

/** One megabyte of new transcript at the end of 500, against one megabyte alone. */
export async function run() {
  const { meterTranscripts, realDisk, realRandom } = await loadInternals();
  const folder = makeFolder();
  const meter = (cache, path) =>
    meterTranscripts(
      { disk: realDisk, random: realRandom },
      { cache, paths: [path], prices: {}, recorded: {}, before: {} },
    );
  const long = join(folder, 'long.jsonl');
  const longCache = join(folder, 'long-cache');
  for (let count = 0; count < 500; count++) fs.appendFileSync(long, formatMegabyte());
  const started = performance.now();
  await meter(longCache, long);
  const first = performance.now() - started;
  const kept = fs.readdirSync(folder).filter((name) => name.startsWith('long-cache'));
  const cacheLength = kept.reduce((sum, name) => sum + fs.statSync(join(folder, name)).size, 0);
  const sides = {
    long: {
      prepare: () => fs.appendFileSync(long, formatMegabyte()),
      run: () => meter(longCache, long),
    },
    alone: {
      prepare: (round) => {
        const path = join(folder, `alone-${round}.jsonl`);
        fs.writeFileSync(path, formatMegabyte());
        return path;
      },
      run: (path) => meter(`${path}.cache`, path),
    },
  };
  const times = await measure(sides, { rounds: 60, warmUp: 5 });
  removeFolder(folder);
  return [
    {
      what: '1 MB of new transcript behind 500',
      against: '1 MB alone',
      ...compare(times.long, times.alone),
      bar: 1.25,
      note: `all 500 MB for the first time took ${(first / 1_000).toFixed(1)} s; what is remembered takes ${Math.round(cacheLength / 1024)} KB`,
    },
  ];
}
