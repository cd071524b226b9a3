import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { editTree } from '../../src/git/objects/tree-object.ts';
import { parseOid } from '../../src/ids.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { withPorts } from '../support/snapshots.ts';

// Names that sort differently as folders and as files, and bytes that are not text.
const names = ['a', 'a.b', 'a0', 'a-', 'b', '\xff\xfe', 'é'];
const path = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join('/'));

type Files = ReadonlyMap<string, string>;

/** Has git make a tree from files, in a separate index. */
function treeOf({ folder, home }: TestRepository, files: Files): string {
  const env = cleanEnvironment(home, { GIT_INDEX_FILE: `${home}/scratch-index` });
  const input = [...files].map(([at, oid]) => `100644 ${oid} 0\t${at}\0`).join('');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, stdio: 'pipe' });
  git('read-tree', '--empty');
  execFileSync('git', ['update-index', '-z', '--index-info'], {
    cwd: folder,
    env,
    input: Buffer.from(input, 'latin1'),
  });
  return git('write-tree').toString().trim();
}

function isBelow(at: string, folder: string): boolean {
  return at.startsWith(`${folder}/`);
}

/** What is there after a file was written: neither what was below it nor a file where it needs a folder. */
function put(files: Files, at: string, oid: string): Map<string, string> {
  const others = [...files].filter(([other]) => !isBelow(other, at) && !isBelow(at, other));
  return new Map([...others, [at, oid]]);
}

it('an edited tree is the one git makes of the same files', async () => {
  const repository = makeRepositoryWithCommit();
  const one = repository.git('rev-parse', 'HEAD:README');
  repository.write('other', 'other\n');
  const two = repository.git('hash-object', '-w', 'other');
  await withPorts(repository.folder, async ({ git }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(path, { maxLength: 8 }),
        fc.uniqueArray(path, { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 7 })),
        async (first, written, removals) => {
          let files = new Map<string, string>();
          for (const at of first) files = put(files, at, one);
          let after = new Map([...files].filter(() => (removals.next().value ?? 0) > 3));
          for (const at of written) after = put(after, at, two);
          const touched = [...files.keys(), ...after.keys()].filter((at) => files.get(at) !== after.get(at));
          const edits = new Map(
            touched.map((at) => {
              const oid = after.get(at);
              return [at, oid === undefined ? null : { mode: '100644', oid: parseOid(oid) }];
            }),
          );
          const { tree, objects } = await editTree(git, parseOid(treeOf(repository, files)), edits);
          expect(tree).toBe(treeOf(repository, after));
          await git.writeObjects(objects);
          expect(repository.tryGit('ls-tree', '-r', tree).status).toBe(0);
        },
      ),
      { numRuns: 60, endOnFailure: true },
    );
  });
});
