import { afterEach, describe, expect, it } from 'vitest';
import type { GitEngine } from '../../src/git/engine.ts';
import { append, type CommitDraft } from '../../src/git/objects/append-commits.ts';
import { formatCommit } from '../../src/git/objects/commit-object.ts';
import { hashObject } from '../../src/git/objects/loose-objects.ts';
import { listPath, readCommit, readPath } from '../../src/git/objects/read-objects.ts';
import { formatTree } from '../../src/git/objects/tree-object.ts';
import { parseOid } from '../../src/ids.ts';
import type { Oid } from '../../src/types.ts';

/** The subject of a suite: an engine on a fresh repository, with real git to check it if possible. */
export type Subject = {
  readonly engine: GitEngine;
  /** Runs real git there; null for an engine without a repository on disk. */
  readonly git: ((...args: string[]) => string) | null;
};

const ref = 'refs/orchestration/epics/e';
const folder = ['.orchestration', 'checkpoints', 'e'];

function draft(message: string, edits: Record<string, string | null>, at = 1_700_000_000_000): CommitDraft {
  const bytes = Object.entries(edits).map(
    ([name, text]) => [name, text === null ? null : Buffer.from(text)] as const,
  );
  return { folder, edits: new Map(bytes), message, authoredAt: at, committedAt: at };
}

async function messages(engine: GitEngine, from: Oid): Promise<string[]> {
  const found: string[] = [];
  for await (const commit of engine.walk(from)) found.push(commit.message.trim());
  return found;
}

/** The contract of an engine: a new one is complete when this passes. */
export function describeEngine(name: string, open: () => Subject): void {
  describe(name, () => {
    let subject: Subject;
    const opened = (): Subject => {
      subject = open();
      return subject;
    };

    afterEach(() => {
      // I5: git accepts everything that was written.
      if (subject.git) expect(subject.git('fsck', '--strict', '--no-dangling')).toBe('');
      subject.engine.close();
    });

    /** Writes one commit on top of another, and returns it. */
    const commit = async (
      engine: GitEngine,
      on: Oid | null,
      message: string,
      edits: Record<string, string | null> = {},
    ) => {
      const base = on && (await readCommit(engine, on)).tree;
      const [oid] = await append(engine, { ref, expected: on, parents: on ? [on] : [], base }, [
        draft(message, edits),
      ]);
      if (oid === undefined) throw new Error('nothing was appended');
      return oid;
    };

    it('returns null for a missing ref, and nothing below a prefix without refs', async () => {
      const { engine } = opened();
      expect(await engine.readRef(ref)).toBeNull();
      expect([...(await engine.listRefs('refs/orchestration/epics/'))]).toEqual([]);
    });

    it('appends a first commit, and git reads it back', async () => {
      const { engine, git } = opened();
      const oid = await commit(engine, null, 'first\n', { 'a.json': '{}' });
      expect(await engine.readRef(ref)).toBe(oid);
      expect((await readCommit(engine, oid)).message).toBe('first\n');
      expect(git?.('rev-parse', ref) ?? oid).toBe(oid);
      expect(git?.('show', `${ref}:${folder.join('/')}/a.json`) ?? '{}').toBe('{}');
    });

    it('I5: gives the ids that git itself gives, as every engine does', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n', { 'a.json': '{}', b: 'β\n' });
      const second = await commit(engine, first, 'second\n', { 'a.json': null, c: '' });
      expect([first, second]).toEqual([
        '61d240073b9f49c888ada5d17ca1c44e3b6d2c26',
        'bf0302a63997fc6cc3d3e6247fce23d0a840eb71',
      ]);
    });

    it('keeps the rest of the tree, and removes only what an edit removes', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n', { a: '1', b: '2' });
      const second = await commit(engine, first, 'second\n', { a: null, c: '3' });
      const { tree } = await readCommit(engine, second);
      expect((await listPath(engine, tree, folder))?.map((entry) => entry.name)).toEqual(['b', 'c']);
      expect((await readPath(engine, tree, [...folder, 'b']))?.toString()).toBe('2');
      expect(await readPath(engine, tree, [...folder, 'a'])).toBeNull();
      expect(await listPath(engine, tree, ['nowhere'])).toBeNull();
    });

    it('appends several commits with one move of the ref', async () => {
      const { engine, git } = opened();
      const oids = await append(engine, { ref, expected: null, parents: [], base: null }, [
        draft('one\n', { a: '1' }),
        draft('two\n', { b: '2' }),
      ]);
      const tip = parseOid(oids[1] ?? '');
      expect(await messages(engine, tip)).toEqual(['two', 'one']);
      expect((await listPath(engine, (await readCommit(engine, tip)).tree, folder))?.length).toBe(2);
      expect(git?.('rev-list', '--count', ref) ?? '2').toBe('2');
    });

    it.each([
      ['made meanwhile', null],
      ['moved meanwhile', 'first'],
      ['rewound meanwhile', 'second'],
    ])('a ref that was %s is a REF_CONFLICT, and stays as it is', async (_, expectation) => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n');
      const second = await commit(engine, first, 'second\n');
      if (expectation === 'second') await engine.moveRefs([{ ref, from: second, to: first }]);
      const now = await engine.readRef(ref);
      const expected = expectation === null ? null : expectation === 'first' ? first : second;
      const late = append(engine, { ref, expected, parents: [first], base: null }, [draft('late\n', {})]);
      await expect(late).rejects.toMatchObject({ code: 'REF_CONFLICT' });
      expect(await engine.readRef(ref)).toBe(now);
    });

    it('a ref that was just deleted is a REF_CONFLICT, and does not reappear', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n');
      await engine.moveRefs([{ ref, from: first, to: null }]);
      const late = append(engine, { ref, expected: first, parents: [first], base: null }, [
        draft('late\n', {}),
      ]);
      await expect(late).rejects.toMatchObject({ code: 'REF_CONFLICT' });
      expect(await engine.readRef(ref)).toBeNull();
    });

    it('moves several refs or none', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n');
      const trash = 'refs/orchestration-local/trash/e/1';
      const wrong = parseOid('1'.repeat(40));
      const torn = engine.moveRefs([
        { ref: trash, from: null, to: first },
        { ref, from: wrong, to: null },
      ]);
      await expect(torn).rejects.toMatchObject({ code: 'REF_CONFLICT' });
      expect(await engine.readRef(trash)).toBeNull();
      await engine.moveRefs([
        { ref: trash, from: null, to: first },
        { ref, from: first, to: null },
      ]);
      expect(await engine.readRef(ref)).toBeNull();
      expect([...(await engine.listRefs('refs/orchestration-local/'))]).toEqual([[trash, first]]);
    });

    it('lists the refs below a prefix, sorted, and no others', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n');
      const others = [
        'refs/orchestration/epics/a',
        'refs/orchestration/epics/z',
        'refs/orchestration/snapshots/e/s',
      ];
      await engine.moveRefs(others.map((other) => ({ ref: other, from: null, to: first })));
      const found = [...(await engine.listRefs('refs/orchestration/epics/')).keys()];
      expect(found).toEqual(['refs/orchestration/epics/a', ref, 'refs/orchestration/epics/z']);
    });

    it('reads packed refs and objects, moves them on, and deletes them for good', async () => {
      const { engine, git } = opened();
      const first = await commit(engine, null, 'first\n', { a: '1' });
      git?.('pack-refs', '--all', '--prune');
      git?.('repack', '-adq');
      git?.('prune-packed');
      expect(await engine.readRef(ref)).toBe(first);
      expect([...(await engine.listRefs('refs/orchestration/epics/')).keys()]).toEqual([ref]);
      const second = await commit(engine, first, 'second\n', { b: '2' });
      expect(await messages(engine, second)).toEqual(['second', 'first']);
      git?.('pack-refs', '--all', '--prune');
      await engine.moveRefs([{ ref, from: second, to: null }]);
      expect(await engine.readRef(ref)).toBeNull();
      expect(git?.('for-each-ref', ref) ?? '').toBe('');
    });

    it('walks a merge newest first, each commit once', async () => {
      const { engine } = opened();
      const tree = formatTree([]);
      await engine.writeObjects([tree]);
      const make = async (message: string, parents: Oid[], seconds: number) => {
        const at = seconds * 1_000;
        const object = formatCommit({
          tree: hashObject(tree, engine.format),
          parents,
          authoredAt: at,
          committedAt: at,
          message: `${message}\n`,
        });
        await engine.writeObjects([object]);
        return hashObject(object, engine.format);
      };
      const root = await make('root', [], 100);
      const left = await make('left', [root], 200);
      const right = await make('right', [root], 300);
      const later = await make('left again', [left], 400);
      const merge = await make('merge', [later, right], 500);
      await engine.moveRefs([{ ref, from: null, to: merge }]);
      expect(await messages(engine, merge)).toEqual(['merge', 'left again', 'right', 'left', 'root']);
      expect(await engine.isAncestor(right, merge)).toBe(true);
      expect(await engine.isAncestor(merge, merge)).toBe(true);
      expect(await engine.isAncestor(right, later)).toBe(false);
    });

    it('fails with INTEGRITY for a missing object, and still answers afterwards', async () => {
      const { engine } = opened();
      const first = await commit(engine, null, 'first\n');
      const missing = parseOid('12'.repeat(20));
      const [lost, found] = await Promise.allSettled([engine.readObject(missing), engine.readObject(first)]);
      expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'INTEGRITY' } });
      expect(found).toMatchObject({ status: 'fulfilled' });
      await expect(messages(engine, missing)).rejects.toMatchObject({ code: 'INTEGRITY' });
    });

    it('keeps any message and any bytes as they are', async () => {
      const { engine } = opened();
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
      const message = 'ünï ✓ 漢字 "quotes" \\ \t\n\nbody: $(id) `id`\n\nOrch-X: y\n';
      const [oid] = await append(engine, { ref, expected: null, parents: [], base: null }, [
        { ...draft(message, {}), edits: new Map([['bytes', bytes]]) },
      ]);
      const read = await readCommit(engine, parseOid(oid ?? ''));
      expect(read.message).toBe(message);
      expect((await readPath(engine, read.tree, [...folder, 'bytes']))?.equals(bytes)).toBe(true);
    });
  });
}
