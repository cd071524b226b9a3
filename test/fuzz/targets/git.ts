import { isDeepStrictEqual } from 'node:util';
import { formatMessage, parseMessage } from '../../../src/checkpoint/document/message.ts';
import {
  parseDocumentName,
  parseSharedRef,
  parseTrackedRef,
  parseTrashRef,
} from '../../../src/checkpoint/document/names-in-git.ts';
import { checkRunFiles } from '../../../src/checkpoint/document/run-files.ts';
import { describeCommit } from '../../../src/checkpoint/list.ts';
import { formatCommit, parseCommit } from '../../../src/git/objects/commit-object.ts';
import { formatTree, parseTree } from '../../../src/git/objects/tree-object.ts';
import { parsePushed } from '../../../src/git/remote/remote.ts';
import { explainFailure } from '../../../src/git/remote/remote-errors.ts';
import { findInIndex, isReadableIndex } from '../../../src/git/snapshot/index-entries.ts';
import { parseRawDiff } from '../../../src/git/worktree/tree-diff.ts';
import { parseUndoRef, readUndoCommit } from '../../../src/git/worktree/undo-refs.ts';
import { isEpicId, isOid, nameFile, readInnerPath, slugOf } from '../../../src/ids.ts';
import { planRestore } from '../../../src/restore/plan-restore.ts';
import { latestTime } from '../../../src/units.ts';
import { makeMemoryRepository, openMemoryEngine } from '../../support/memory-engine.ts';
import { must, mustBeShowable, type Target, type Verdict } from '../target.ts';
import { at, composed, oid } from './epic.ts';

const messages = composed.map(({ commit }) => commit.message);

const message: Target = {
  name: 'message',
  form: 'text',
  samples: messages.map((text) => Buffer.from(text)),
  run: (input) => {
    const said = parseMessage(input.toString('utf8'));
    if (said === null) return 'refused';
    must(Number.isSafeInteger(said.cost) && said.cost >= 0, `cost is ${said.cost}`);
    must(
      Number.isSafeInteger(said.sessionNumber) && said.sessionNumber >= 0,
      `session ${said.sessionNumber}`,
    );
    must(isEpicId(said.epicId), 'the epic has an id');
    const again = parseMessage(formatMessage(said, 'x'));
    must(again !== null, 'what was read can be written');
    must(again.id === said.id && again.cost === said.cost, 'and says the same');
    // What is written once is clean, and stays as it is.
    must(
      isDeepStrictEqual(parseMessage(formatMessage({ ...again, reason: null }, 'x')), {
        ...again,
        reason: null,
      }),
      'writing it again changes nothing',
    );
    return 'accepted';
  },
};

const undoMessage = `undo\n\nOrch-Undo: ${JSON.stringify({ epic: 'x', restored: [{ from: oid, to: oid }], bytes: oid, over: 'restoring ckpt 5', scope: ['a'], leftOut: [{ path: 'a', reason: 'b' }], isFinished: true, saved: oid, savedSeq: 5, undoes: null, place: null })}\n`;
const content = { tree: oid, parents: [oid, oid], authoredAt: at, committedAt: at };

const commit: Target = {
  name: 'commit',
  form: 'text',
  samples: [...messages, undoMessage].map((text) => formatCommit({ ...content, message: text }).bytes),
  run: async (input): Promise<Verdict> => {
    const repository = makeMemoryRepository();
    repository.objects.set(oid, { kind: 'commit', bytes: input });
    const git = openMemoryEngine(repository);
    const read = parseCommit(oid, { kind: 'commit', bytes: input });
    for (const time of [read.authoredAt, read.committedAt])
      must(time >= 0 && time <= latestTime, `a commit of ${time}`);
    describeCommit(read);
    // Its own parent: a history that never ends must end.
    let walked = 0;
    for await (const _ of git.walk(oid, 10)) walked++;
    must(walked === 1, 'a commit is walked over once');
    const { undo } = await readUndoCommit(git, oid);
    for (const { from, to } of undo.restored) must(isOid(from) && isOid(to), 'an undo names objects');
    return 'accepted';
  },
};

const entries = [
  { mode: '100644', name: 'a', oid },
  { mode: '40000', name: 'b', oid },
  { mode: '120000', name: 'c.d', oid },
];

const tree: Target = {
  name: 'tree',
  form: 'bytes',
  samples: [formatTree(entries).bytes, Buffer.alloc(0)],
  run: (input) => {
    for (const format of ['sha1', 'sha256'] as const)
      for (const encoding of ['utf8', 'latin1'] as const) {
        if (format === 'sha256' && input.length % 3 !== 0) continue;
        const read = parseTree(input, format, encoding);
        if (encoding !== 'latin1') continue;
        const again = formatTree(read, encoding).bytes;
        must(isDeepStrictEqual(parseTree(again, format, encoding).length, read.length), 'it can be written');
      }
    return 'accepted';
  },
};

const rawDiff = [
  `:100644 100755 ${oid} ${oid} M\0a/b\0:000000 120000 ${'0'.repeat(40)} ${oid} A\0a\0`,
  `:160000 000000 ${oid} ${'0'.repeat(40)} D\0sub\0:100644 000000 ${oid} ${'0'.repeat(40)} D\0../x\0`,
];

const restoredPaths: Target = {
  name: 'restored paths',
  form: 'text',
  samples: rawDiff.map((text) => Buffer.from(text)),
  run: (input) => {
    const changes = parseRawDiff(input.toString('latin1'));
    const paths = changes.map(({ path }) => path);
    const kinds = ['file', 'folder', 'link', 'missing', 'repository', 'special', 'unreadable'] as const;
    const found = new Map(
      paths.map((path, index) => [path, { kind: kinds[index % kinds.length] ?? 'file', bytes: index }]),
    );
    const plan = planRestore({
      changes,
      found,
      occupied: new Set(paths.slice(0, 1)),
      leftOutNow: new Map([['big', 'too large']]),
      leftOutThen: new Map([['a/', 'ignored']]),
      unseen: new Map(),
      ignored: new Map(),
      ours: new Set(paths.slice(1, 2)),
      maxFileBytes: 10,
    });
    for (const path of plan.write.keys())
      must(!plan.kept.some((each) => each.path === path), 'kept or written');
    for (const path of paths) {
      const inner = readInnerPath(path);
      must(inner === null || !/(?:^|\/)\.\.(?:\/|$)|^[-/]|\0/.test(inner), `a path leads out: ${inner}`);
      checkRunFiles([{ run: 'run-abcd', path: inner ?? 'x', bytes: Buffer.alloc(0) }]);
    }
    return 'accepted';
  },
};

const refs = [
  'refs/orchestration/epics/x',
  'refs/orchestration/snapshots/x/sess-abcd',
  'refs/orchestration-local/trash/x/20261116T100000Z-abcd',
  'refs/orchestration-local/remotes/origin/epics/x',
  'refs/orchestration-local/undo/main/00000001',
  '00000058-ckpt-00000058-k3f9qz.json',
  'feat/some-branch',
];

const refName: Target = {
  name: 'ref name',
  form: 'text',
  samples: refs.map((ref) => Buffer.from(ref)),
  run: (input) => {
    const text = input.toString('utf8');
    const shared = parseSharedRef(text);
    const trashed = parseTrashRef(text);
    const tracked = parseTrackedRef(text);
    const undo = parseUndoRef(text);
    const document = parseDocumentName(text);
    const slug = slugOf(text);
    for (const epic of [shared?.epic, trashed?.epic, slug]) {
      if (epic === undefined || epic === null) continue;
      must(isEpicId(epic) && !/[/\\\s\0]|^[.-]|\.\./.test(epic), `${epic} is no epic`);
      must(nameFile(epic, '.json') === `${epic}.json`, 'an epic can be a file');
    }
    must(trashed === null || Number.isFinite(trashed.at), 'a time is a number');
    must(undo === null || Number.isFinite(undo.number), 'a number is one');
    return (shared ?? trashed ?? tracked ?? undo ?? document) ? 'accepted' : 'refused';
  },
};

/** An index of git's with two entries, as `git update-index` writes it. */
const index = Buffer.concat([
  Buffer.from('DIRC'),
  Buffer.from([0, 0, 0, 2, 0, 0, 0, 1]),
  Buffer.alloc(40, 1),
  Buffer.from(oid, 'hex'),
  Buffer.from([0, 1]),
  Buffer.from('a'),
  Buffer.alloc(9),
  Buffer.alloc(20, 3),
]);

const indexTarget: Target = {
  name: 'git index',
  form: 'bytes',
  samples: [index],
  run: (input) => {
    if (!isReadableIndex(input)) return 'refused';
    return findInIndex(input, ['a', 'b/c'], 'sha1') === null ? 'refused' : 'accepted';
  },
};

const remoteWords: Target = {
  name: 'remote words',
  form: 'text',
  samples: [
    'To https://me:secret@example.com/x.git\n!\trefs/x:refs/x\t[rejected] (fetch first)\n*\trefs/y:refs/y\t[new branch]\nDone\n',
    "remote: Permission to x/y.git denied to me.\nfatal: unable to access 'https://example.com/x/y.git/': The requested URL returned error: 403\n",
    'ERROR: Repository not found.\nfatal: Could not read from remote repository.\n\nPlease make sure\n',
    '!\trefs/x:refs/x\t[remote rejected] (pre-receive hook declined)\nremote: GL-HOOK-ERR: no\n',
  ].map((text) => Buffer.from(text)),
  run: (input, random) => {
    const text = input.toString('utf8');
    for (const { reason } of parsePushed(text, text).values())
      if (reason !== null) mustBeShowable(reason, 'why a push was refused');
    const { message, data } = explainFailure(random.pick(['ask', 'fetch', 'push']), 'origin', text);
    mustBeShowable(message, 'why a remote failed');
    must(message.length < 5_000 && JSON.stringify(data).length < 20_000, `a message of ${message.length}`);
    return 'accepted';
  },
};

export const gitTargets: readonly Target[] = [
  remoteWords,
  message,
  commit,
  tree,
  restoredPaths,
  refName,
  indexTarget,
];
