import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readOrchestrationYaml, writeBack } from '../../src/orchestration-file/write-back.ts';
import { realRandom } from '../../src/system/clock.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { makeFolder } from '../support/repository.ts';

const ports = { disk: realDisk, random: realRandom };
const mark = {
  id: 'ckpt-00000058-k3f9qz',
  fillPercentage: null,
  tier: null,
  at: Date.parse('2026-03-01T12:00:00Z'),
};
const before = '# mine\nworkflow: {status: ACTIVE}   # keep\nresumption:\n  tier: LOW\n';
const after = `# mine
workflow: {status: ACTIVE}   # keep
resumption:
  latest_checkpoint_id: "ckpt-00000058-k3f9qz"
  fill_percentage: null
  checkpoint_timestamp: "2026-03-01T12:00:00.000Z"
  tier: null
`;

function makeTree(content: string | Buffer = before): { root: string; file: string } {
  const root = makeFolder();
  const file = join(root, 'ORCHESTRATION.yaml');
  writeFileSync(file, content);
  return { root, file };
}

describe('writing back', () => {
  it('names the checkpoint, keeps the rest, and is read again', async () => {
    const { root, file } = makeTree();
    expect(await writeBack(ports, root, mark)).toEqual({ written: true });
    expect(readFileSync(file, 'utf8')).toBe(after);
    expect(readOrchestrationYaml(root, mark.at + 5_000)).toMatchObject({
      status: 'ACTIVE',
      checkpoint: { id: mark.id, fillPercentage: null, tier: null, at: mark.at },
      age: 5_000,
    });
    await writeBack(ports, root, { ...mark, fillPercentage: 0.25, tier: 'NOMINAL' });
    expect(parse(readFileSync(file, 'utf8')).resumption).toMatchObject({
      fill_percentage: 0.25,
      tier: 'NOMINAL',
    });
    expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
  });

  it('keeps the mode and, where that is allowed, the owner', async () => {
    const { root, file } = makeTree();
    chmodSync(file, 0o664);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(file, 1234, 4321);
    const { mode, uid, gid } = statSync(file);
    expect(await writeBack(ports, root, mark)).toEqual({ written: true });
    expect(statSync(file)).toMatchObject({ mode, uid, gid });
  });

  it('leaves the file alone where it says so already', async () => {
    const { root, file } = makeTree(after);
    const { ino } = statSync(file);
    expect(await writeBack(ports, root, mark)).toEqual({ written: true });
    expect(statSync(file).ino).toBe(ino);
  });

  it('follows a link, and leaves it a link', async () => {
    const root = makeFolder();
    mkdirSync(join(root, 'docs'));
    writeFileSync(join(root, 'docs', 'real.yaml'), before);
    symlinkSync('docs/real.yaml', join(root, 'ORCHESTRATION.yaml'));
    expect(await writeBack(ports, root, mark)).toEqual({ written: true });
    expect(readlinkSync(join(root, 'ORCHESTRATION.yaml'))).toBe('docs/real.yaml');
    expect(readFileSync(join(root, 'docs', 'real.yaml'), 'utf8')).toBe(after);
  });

  it('follows no link out of the repository, neither for writing nor for reading', async () => {
    const { file: outside } = makeTree();
    const root = makeFolder();
    symlinkSync(outside, join(root, 'ORCHESTRATION.yaml'));
    expect(await writeBack(ports, root, mark)).toMatchObject({
      written: false,
      reason: expect.stringMatching(/leads out/),
    });
    expect(readOrchestrationYaml(root, 0)).toMatchObject({ problem: expect.stringMatching(/leads out/) });
    expect(readFileSync(outside, 'utf8')).toBe(before);
  });

  it.each<[what: string, content: string | Buffer, reason: RegExp]>([
    ['broken YAML', 'resumption: {\n', /line \d/],
    ['a key twice', 'resumption:\n  tier: 1\n  tier: 2\n', /line 3: the key tier appears twice/],
    ['several documents', 'a: 1\n---\nb: 2\n', /line 2: a second document/],
    ['tabs', 'resumption:\n\ttier: 1\n', /line 2: Tabs/],
    ['an anchor others refer to', 'resumption: {tier: &t LOW}\nx: *t\n', /without changing the rest/],
    ['bytes that are no text', Buffer.from('a: "\xff\xfe"\n', 'latin1'), /not UTF-8/],
    ['UTF-16', Buffer.from('\uFEFFa: 1\n', 'utf16le'), /not UTF-8/],
    ['too much', `a: "${'x'.repeat(2 ** 18)}"\n`, /larger than 256 KB/],
    ['too many brackets', `a: ${'['.repeat(100_000)}\n`, /nested too deeply/],
  ])('refuses %s, with the file as it was', async (_, content, reason) => {
    const { root, file } = makeTree(content);
    const result = await writeBack(ports, root, mark);
    expect(result).toMatchObject({ written: false, reason: expect.stringMatching(reason) });
    expect(readFileSync(file).equals(Buffer.from(content))).toBe(true);
    expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
  });

  it('refuses a write-protected file, a folder, a link to nowhere or to itself, and where there is none', async () => {
    const { root, file } = makeTree();
    chmodSync(file, 0o444);
    expect(await writeBack(ports, root, mark)).toMatchObject({
      written: false,
      reason: expect.stringMatching(/write-protected/),
    });
    expect(readFileSync(file, 'utf8')).toBe(before);

    const folder = makeFolder();
    mkdirSync(join(folder, 'ORCHESTRATION.yaml'));
    expect(await writeBack(ports, folder, mark)).toMatchObject({
      written: false,
      reason: expect.stringMatching(/not a file/),
    });

    const empty = makeFolder();
    expect(readOrchestrationYaml(empty, 0)).toBeNull();
    expect(await writeBack(ports, empty, mark)).toMatchObject({
      written: false,
      reason: expect.stringMatching(/does not exist/),
    });
    symlinkSync('ORCHESTRATION.yaml', join(empty, 'ORCHESTRATION.yaml'));
    expect(await writeBack(ports, empty, mark)).toMatchObject({ written: false });
    expect(readOrchestrationYaml(empty, 0)).toHaveProperty('problem');
    expect(lstatSync(join(empty, 'ORCHESTRATION.yaml')).isSymbolicLink()).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)(
    'refuses what another user may not write or could not give back',
    async () => {
      const { root, file } = makeTree();
      const asAnother = async () => {
        process.seteuid?.(65_534);
        try {
          return await writeBack(ports, root, mark);
        } finally {
          process.seteuid?.(0);
        }
      };
      chmodSync(root, 0o755);
      chmodSync(file, 0o666);
      const denied = { written: false, reason: expect.stringMatching(/permission denied/) };
      expect(await asAnother()).toEqual(denied);
      // In a folder that is open to all it could be replaced, but it would be another user's then.
      chmodSync(root, 0o777);
      expect(await asAnother()).toEqual(denied);
      expect(readFileSync(file, 'utf8')).toBe(before);
      chmodSync(file, 0o600);
      expect(await asAnother()).toEqual(denied);
      expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
      expect(statSync(file).uid).toBe(0);
    },
  );

  it('says what the disk said', async () => {
    const { root, file } = makeTree();
    const full: Disk = { ...realDisk, write: (fd, bytes) => realDisk.write(fd, bytes.subarray(1)) };
    const result = await writeBack({ ...ports, disk: full }, root, mark);
    expect(result).toMatchObject({ written: false, reason: expect.stringMatching(/disk is full/) });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
  });

  it('loses nothing somebody else writes meanwhile, and gives up on one who never stops', async () => {
    const { root, file } = makeTree();
    let edits = 0;
    const meddling = (most: number): Disk => ({
      ...realDisk,
      sync: async (fd) => {
        await realDisk.sync(fd);
        if (edits < most) writeFileSync(file, `${readFileSync(file, 'utf8')}# edit ${++edits}\n`);
      },
    });
    expect(await writeBack({ ...ports, disk: meddling(3) }, root, mark)).toEqual({ written: true });
    expect(readFileSync(file, 'utf8')).toBe(`${after}# edit 1\n# edit 2\n# edit 3\n`);
    edits = 0;
    const stubborn = await writeBack({ ...ports, disk: meddling(1_000) }, root, { ...mark, tier: 'LOW' });
    expect(stubborn).toMatchObject({
      written: false,
      reason: expect.stringMatching(/other processes keep changing/),
    });
    expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
  });

  it('many at once leave a whole file that names one of them', async () => {
    const { root, file } = makeTree();
    const ids = Array.from({ length: 8 }, (_, n) => `ckpt-0000000${n}-aaaaaa`);
    await Promise.all(ids.map((id) => writeBack(ports, root, { ...mark, id })));
    const text = readFileSync(file, 'utf8');
    expect(ids).toContain(parse(text).resumption.latest_checkpoint_id);
    expect(text.replace(/ckpt-\d+-a+/, mark.id)).toBe(after);
    expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
  });

  it('dying at any step leaves the old file or the new one, and what was left behind goes the next time', async () => {
    const die = async (at: number, torn: boolean): Promise<boolean> => {
      const { root, file } = makeTree();
      const crashing = makeCrashingDisk({ at, torn });
      await writeBack({ ...ports, disk: crashing.disk }, root, mark);
      expect([before, after]).toContain(readFileSync(file, 'utf8'));
      for (const left of readdirSync(root).filter((name) => name !== 'ORCHESTRATION.yaml'))
        utimesSync(join(root, left), 0, 0);
      expect(await writeBack(ports, root, { ...mark, tier: 'LOW' })).toEqual({ written: true });
      expect(readdirSync(root)).toEqual(['ORCHESTRATION.yaml']);
      return crashing.hasDied();
    };
    for (const torn of [false, true]) {
      let deaths = 0;
      while (await die(deaths + 1, torn)) deaths += 1;
      expect(deaths).toBeGreaterThan(torn ? 0 : 4);
    }
  });
});
