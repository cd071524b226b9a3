import { saveCheckpoint } from '../../dist/index.js';

const text = 'The form posts to the new endpoint now; the redirect after it still loses the query string';
const lines = { added: 12, removed: 3, priority: null, why: null };
const usage = { micros: 41_000, input: 1_200, output: 800, cacheRead: 50_000, cacheWrite: 900, unpriced: 0 };

/** Saves what an agent typically did between two checkpoints. */
export function saveSome(orch, epicId, round) {
  const facts = [
    { kind: 'note', id: `note-${round}`, text: `${text} (${round})` },
    { kind: 'file', path: `src/login/step-${round}.ts`, change: 'modified', ...lines },
    { kind: 'cost', model: 'claude-sonnet-4-5', usage },
  ];
  return saveCheckpoint({ epicId, reason: `Login form, step ${round}`, facts, agent: 'claude-code' }, orch);
}

/** Fills the lists of an epic to their bounds: a document after weeks of work. */
export async function saveMuch(orch, epicId) {
  const facts = [];
  for (let index = 0; index < 100; index++) {
    const id = `before-${index}`;
    facts.push({ kind: 'note', id, text }, { kind: 'tried', id, text });
    facts.push({ kind: 'decision', id, text, rationale: text });
    facts.push({ kind: 'file', path: `src/before/${index}.ts`, change: 'modified', ...lines });
  }
  await saveCheckpoint({ epicId, facts }, orch);
}
