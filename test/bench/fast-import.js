import { runCommand } from './commands.js';

const by = 'orch <orch@localhost>';

/** One checkpoint in the language of `git fast-import`, upon what its ref stands on. */
export function formatImport({ ref, from, at, message, folder, removed, name, document }) {
  const path = (file) => `.orchestration/checkpoints/${folder}/${file}`;
  return [
    `commit ${ref}\nauthor ${by} ${at} +0000\ncommitter ${by} ${at} +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
    from ? `from ${from}\n` : '',
    removed ? `D ${path(removed)}\n` : '',
    `M 100644 inline ${path(name)}\ndata ${Buffer.byteLength(document)}\n${document}\n`,
  ].join('');
}

/** Imports one checkpoint; on disk when it ends, its loose objects and its ref each synced as orch syncs them. */
export function importDurably(folder, stream) {
  const settings = ['core.fsync=committed,reference,loose-object', 'core.fsyncMethod=fsync'];
  const args = [...settings.flatMap((setting) => ['-c', setting]), 'fast-import', '--quiet', '--done'];
  return runCommand('git', args, { cwd: folder, input: `${stream}done\n` });
}
