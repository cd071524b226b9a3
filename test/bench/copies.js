import { createHash } from 'node:crypto';
import { formatImport } from './fast-import.js';
import { loadInternals } from './internals.js';
import { git } from './scratch.js';

/** The checkpoints after a given one, up to number `count`: its copies, each of them valid, for `git fast-import`. */
export async function formatCopies(folder, { checkpoint, document }, count) {
  const { canonicalJson, documentName, formatDocument, formatMessage, makeCheckpointId, parseMessage } =
    await loadInternals();
  const message = `${git(folder, 'log', '-1', '--format=%B', checkpoint.commit)}\n`;
  const [said, figures] = [parseMessage(message), message.split('\n')[2]];
  const ref = `refs/orchestration/epics/${document.epicId}`;
  const tree = `${checkpoint.commit}:.orchestration/checkpoints/${document.epicId}`;
  const names = git(folder, 'ls-tree', '--name-only', tree)
    .split('\n')
    .filter((name) => name.endsWith('.json'));
  const fill = makeForm(document, canonicalJson, formatDocument);
  const copy = (seq) => {
    const id = makeCheckpointId(seq, seq.toString(36).padStart(6, '0'));
    const at = Math.floor(Date.parse(checkpoint.timestamp) / 1_000) + seq - checkpoint.seq;
    const timestamp = `${new Date(at * 1_000).toISOString().slice(0, -5)}Z`;
    const step = { id, seq, timestamp, reason: `Step ${seq}`, summary: `Step ${seq}` };
    names.push(documentName(id));
    return formatImport({
      ref,
      from: seq === checkpoint.seq + 1 && `${ref}^0`,
      at,
      message: formatMessage({ ...said, ...step }, figures),
      folder: document.epicId,
      removed: names.shift(),
      name: documentName(id),
      document: fill(step),
    });
  };
  return (function* () {
    for (let seq = checkpoint.seq + 1; seq <= count; seq++) yield copy(seq);
  })();
}

/** A document with gaps, as it is stored and as it is hashed: a hundred thousand are filled in a few seconds. */
function makeForm({ integrity: _, ...content }, canonicalJson, formatDocument) {
  const gap = (name) => [name, `@@${name}@@`];
  const gaps = Object.fromEntries(['id', 'seq', 'timestamp', 'reason', 'summary'].map(gap));
  const stored = formatDocument({ ...content, ...gaps, integrity: '@@integrity@@' }).toString();
  const hashed = canonicalJson({ ...content, ...gaps });
  const fillIn = (form, values) => form.replace(/"@@(\w+)@@"/g, (_, name) => JSON.stringify(values[name]));
  return (step) => {
    const hash = createHash('sha256').update(fillIn(hashed, step)).digest('hex');
    return fillIn(stored, { ...step, integrity: `sha256-${hash}` });
  };
}
