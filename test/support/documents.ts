import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { orchBin } from './orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from './repository.ts';

/*
 * The documents are run: in a code block, a line that begins with "$ " is a command, and what follows is what it prints.
 * A comment above a block says what is special about it:
 *
 *   <!-- not run: it needs a second machine -->   only the names and options of its orch commands are checked
 *   <!-- file: release.yaml -->                   the block is the content of this file, for the commands below it
 *   <!-- run: touch fixed -->                     a command that readers need not see
 */

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Do the tests write what is true now into the documents, rather than compare? */
export const isUpdate = process.env.ORCH_UPDATE_DOCS === '1';

export const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  .filter((path) => path.endsWith('.md'))
  .sort();

export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Writes a document where the tests are to bring it up to date, and nothing otherwise. */
export function updateDocument(path: string, text: string): void {
  if (isUpdate) writeFileSync(join(root, path), text);
}

export type Step =
  | { readonly kind: 'file'; readonly path: string; readonly content: string }
  | { readonly kind: 'hidden'; readonly command: string }
  | {
      readonly kind: 'shown';
      readonly command: string;
      readonly output: string;
      readonly isRun: boolean;
      /** Where the output is in the document. */
      readonly from: number;
      readonly to: number;
    };

/** What a document tells its readers to do, in order. */
export function parseSteps(text: string): Step[] {
  const steps: Step[] = [];
  const found = text.matchAll(
    /^<!-- run: (.+) -->$|(?:^<!-- (not run|file): (.+) -->\n)?^```.*\n([\s\S]*?)^```$/gm,
  );
  for (const match of found) {
    const [whole, hidden, mark, detail = '', block = ''] = match;
    if (hidden !== undefined) steps.push({ kind: 'hidden', command: hidden });
    else if (mark === 'file') steps.push({ kind: 'file', path: detail, content: block });
    else if (block.startsWith('$ ')) {
      let from = match.index + whole.length - '```'.length - block.length;
      for (const part of block.split(/^(?=\$ )/m)) {
        const command = part.slice(2, part.indexOf('\n'));
        const output = part.slice(part.indexOf('\n') + 1);
        const to = from + part.length;
        steps.push({
          kind: 'shown',
          command,
          output,
          isRun: mark !== 'not run',
          from: to - output.length,
          to,
        });
        from = to;
      }
    }
  }
  return steps;
}

/** Ids, hashes, times and how long something took differ from run to run. */
export function normalize(text: string): string {
  return text
    .replace(' and everything it started', '') // printed only where the kernel confirms it
    .replace(/\b(ckpt-\d{8}|sess|run|bisect)-[a-z0-9]+/g, '$1-ID')
    .replace(/\b[0-9a-f]{7,64}\b/g, 'HASH')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b\d\d:\d\d\b/g, 'HH:MM')
    .replace(/\bpid \d+/g, 'pid PID')
    .replace(/( (?:in )?)\d+s\b/g, '$1Ns')
    .replace(/ \d+(\.\d+)? s\b/g, ' N s')
    .trimEnd();
}

const tools =
  'bash sh git npm env cat cp echo grep head kill ln ls mkdir ps rm sed sleep tail touch wc'.split(' ');

/** A repository as the documents have it, on a machine with orch, Claude Code and not much else. */
export function makeStage() {
  const repository = makeRepositoryWithCommit();
  const { home, folder } = repository;
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const standIn = fileURLToPath(new URL('stand-in-claude.mjs', import.meta.url));
  for (const [name, program] of [
    ['orch', orchBin],
    ['claude', standIn],
  ] as const)
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o755,
    });
  symlinkSync(process.execPath, join(bin, 'node'));
  const folders = process.env.PATH?.split(delimiter) ?? [];
  for (const name of tools) {
    const found = folders.map((each) => join(each, name)).find((path) => existsSync(path));
    if (found) symlinkSync(found, join(bin, name));
  }
  repository.git('config', 'user.name', 'You');
  repository.git('config', 'user.email', 'you@example.com');
  const env = {
    ...cleanEnvironment(home, { TZ: 'UTC', COLUMNS: '100', ORCH_TEMPLATES: join(root, 'templates') }),
    ORCH_NOW: '2026-11-16T02:11:47Z', // on a slow machine "now" would become "1s ago"
    PATH: bin,
  };
  let pid = '';
  /** Runs a line as it was typed, in this folder, and gives what a reader would see. */
  const run = (command: string): string => {
    const line = command.replace(/^kill -9 \d+$/, killAndWait(pid));
    const { stdout } = spawnSync('bash', ['-c', 'eval "$1" 2>&1', 'bash', line], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    pid = /\bpid (\d+)/.exec(stdout)?.[1] ?? pid;
    return stdout
      .replaceAll(folder, '/home/you/shop')
      .replaceAll(home, '/home/you')
      .replace(/\bpid \d+/g, 'pid 4711');
  };
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  return { run, write };
}

/** A killed process takes a moment to be gone, which a person who types does not notice. */
function killAndWait(pid: string): string {
  const isThere = `ps -o stat= -p ${pid} | grep -q '^[^Z]'`;
  return `kill -9 ${pid}; while ${isThere}; do sleep 0.02; done`;
}
