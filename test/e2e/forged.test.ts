import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { formatDocument, parseDocument, sealDocument } from '../../src/checkpoint/document/document.ts';
import { runs } from '../support/depth.ts';
import {
  hostileTexts,
  listPlaces,
  marker,
  type Place,
  plantForged,
  putAt,
  showPlace,
  storeForged,
  strangersContent,
} from '../support/forged.ts';
import { type Ran, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

/** An agent that keeps what it was started with. */
function makeDumpingAgent(repository: TestRepository) {
  const program = join(repository.home, 'bin', 'claude');
  const file = join(repository.home, 'dump.json');
  mkdirSync(dirname(program), { recursive: true });
  const keep = `{ argv: process.argv.slice(2), env: process.env, brief: readFileSync(process.env.ORCH_BRIEF_FILE, 'utf8') }`;
  writeFileSync(
    program,
    `#!${process.execPath}\nconst { readFileSync, writeFileSync } = require('node:fs');\nwriteFileSync(${JSON.stringify(file)}, JSON.stringify(${keep}));\n`,
  );
  chmodSync(program, 0o755);
  const read = (): { argv: string[]; env: Record<string, string>; brief: string } =>
    JSON.parse(readFileSync(file, 'utf8'));
  return { program, read, forget: () => rmSync(file, { force: true }) };
}

/** Everything below a folder that is not git's own storage. */
function listNames(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((each) => relative(folder, join(each.parentPath, each.name)))
    .filter((name) => !/\.git\/(?:objects|refs)\//.test(name));
}

/** What a terminal would obey, or show as another text. */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

function expectHarmless({ status, stdout, stderr }: Ran, command: string): void {
  expect(status, `${command}: ${stderr}`).not.toBe(70);
  expect(`${stdout}${stderr}`, command).not.toMatch(obeyed);
  // A line is begun by orch alone.
  expect(`${stdout}\n${stderr}`, command).not.toMatch(/^[>\s]*(?:FORGED|Orch-Forged|# h0st1le)/m);
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** Runs every command that reads an epic, and looks at all that comes out of it. */
function expectContained(repository: TestRepository, agent: ReturnType<typeof makeDumpingAgent>): void {
  const before = new Set(listNames(repository.home));
  for (const command of [
    ['status'],
    ['log', 'x'],
    ['brief', '-e', 'x'],
    ['session', 'show', '-e', 'x'],
    ['session', 'status', '-e', 'x'],
    ['session', 'list'],
    ['checkpoint', 'list', '-e', 'x'],
    ['checkpoint', 'show', 'latest', '-e', 'x'],
    ['checkpoint', 'verify', '-e', 'x'],
    ['diff', 'latest', '-e', 'x'],
    ['restore', 'latest', '-e', 'x', '--dry-run'],
    ['run', '--list', '-e', 'x'],
    ['cost', 'report', '-e', 'x'],
  ])
    expectHarmless(runOrch(repository, command), command.join(' '));
  agent.forget();
  const resumed = runOrch(repository, ['resume', '-e', 'x', '--take-over', '--', agent.program, '-p', 'Go']);
  expectHarmless(resumed, 'resume');
  if (resumed.status === 0) {
    const { argv, env, brief } = agent.read();
    expect(argv).toEqual([
      expect.stringMatching(/^--settings=\{"hooks":\{"SessionStart":\[[^[]*\[[^[]*cat [^[]*\]\}\]\}\}$/),
      expect.stringMatching(new RegExp(`^--session-id=${uuid}$`)),
      '-p',
      'Go',
    ]);
    expect(JSON.stringify([argv, env])).not.toContain(marker);
    const [, , ...quoted] = brief.trimEnd().split('\n');
    expect(quoted.splice(-2)).toEqual(['', expect.stringMatching(/^Use it as background for .* itself\.$/)]);
    for (const line of quoted) expect(line).toMatch(/^>( |$)/);
  }
  const trailers = repository.git('log', '--format=%(trailers:keyonly)', 'refs/orchestration/epics/x');
  expect(trailers).not.toMatch(/Forged/);
  for (const name of listNames(repository.home).filter((each) => !before.has(each)))
    expect(name).toMatch(/^(?:dump\.json|repository\/\.git\/(?:orchestration(?:\/|$)|logs\/))/);
  expect(listNames(repository.home).filter((name) => name.includes(marker))).toEqual([]);
}

/** Does a document with this text there come in at all? */
async function isTaken(place: Place, hostile: string): Promise<boolean> {
  const sealed = sealDocument(putAt(strangersContent, place, hostile) as never); // it need not be one
  return parseDocument(formatDocument(sealed), 'it').then(
    () => true,
    () => false,
  );
}

describe("a stranger's document", () => {
  it('is no part of the state where an id is none, whichever it is', async () => {
    const ids = listPlaces().filter(({ path }) => {
      const last = String(path.at(-1));
      return /^(?:id|epicId|sessionId|writer|gitCommit|snapshot|tree|parentSessionId|latestCheckpointId|by)$/.test(
        last,
      );
    });
    const kept = ids.filter(({ path }) => !/fact|lastGreen|changes/.test(path.join('.')));
    expect(kept.length).toBeGreaterThan(8);
    for (const place of kept)
      for (const hostile of Object.values(hostileTexts))
        expect(await isTaken(place, hostile), showPlace(place)).toBe(false);
  });

  it.each(Object.entries(hostileTexts))(
    'says no more than text, whatever it says: %s',
    async (_, hostile) => {
      const repository = makeRepositoryWithCommit();
      const agent = makeDumpingAgent(repository);
      let forged = strangersContent;
      for (const place of listPlaces().filter(({ isKey }) => !isKey))
        if (await isTaken(place, hostile)) forged = putAt(forged, place, hostile);
      plantForged(repository, forged);
      expectContained(repository, agent);
      const { brief } = agent.read();
      expect(brief).toContain('from w-stranger: “');
    },
  );

  it('does no harm with any text in any place', async () => {
    const repository = makeRepositoryWithCommit();
    const agent = makeDumpingAgent(repository);
    const anyPlace = fc.constantFrom(...listPlaces());
    const anyText = fc.constantFrom(...Object.values(hostileTexts));
    await fc.assert(
      fc.asyncProperty(anyPlace, anyText, async (place, hostile) => {
        plantForged(repository, putAt(strangersContent, place, hostile));
        expectContained(repository, agent);
      }),
      { numRuns: runs(6) },
    );
  });

  it.each([
    `--settings=/../${'../'.repeat(4)}repository/evil`,
    '../../../repository/evil',
    '3f0c3a1e-0000-4000-8000-000000000001',
  ])('never names the conversation that is resumed: %s', (session) => {
    const repository = makeRepositoryWithCommit();
    const agent = makeDumpingAgent(repository);
    const place: Place = { path: ['state', 'current', 'agent', 'value', 'session'], isKey: false };
    const project = repository.folder.replace(/[^a-zA-Z0-9]/g, '-');
    const transcript = join(repository.home, '.claude', 'projects', project, `${session}.jsonl`);
    mkdirSync(dirname(transcript), { recursive: true });
    writeFileSync(transcript, '{}\n');
    plantForged(repository, putAt(strangersContent, place, session));
    const ran = runOrch(repository, ['resume', '-e', 'x', '--', agent.program, '-p', 'Go']);
    expect(ran.status, ran.stderr).toBe(0);
    const { argv } = agent.read();
    expect(argv.join('\n')).not.toContain(session);
    // The one that is there is orch's own, and the same for every epic.
    const own = expect.stringMatching(/^--settings=\{"hooks":\{"SessionStart":.*ORCH_BRIEF_FILE[^/]*$/);
    expect(argv.filter((word) => /resume|settings/.test(word))).toEqual([own]);
  });

  it('is set aside by a sync and named, and the rest arrives', async () => {
    const hub = makeHub();
    const clone = cloneOf(hub, 'clone');
    const sessionId: Place = { path: ['sessionId'], isKey: false };
    const commit = storeForged(hub, putAt(strangersContent, sessionId, hostileTexts['a trailer'] ?? ''));
    hub.git('update-ref', 'refs/orchestration/epics/x', commit);
    const { skipped, errors } = await syncIn(clone);
    expect(JSON.stringify([skipped, errors])).toMatch(/sessionId/);
    expect(clone.tryGit('rev-parse', '--verify', 'refs/orchestration/epics/x').status).not.toBe(0);
  });
});
