import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { parseConfig } from '../../src/config/parse.ts';
import { loadLatestCheckpoint, runPlan, saveCheckpoint } from '../../src/index.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { makeSchemas } from '../support/json-schemas.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const schemas = makeSchemas();

it.each([...schemas])(
  '%s is what the shapes say (npx vitest run test/unit/schemas.test.ts --update)',
  async (file, schema) => {
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
      `../../templates/schemas/${file}`,
    );
  },
);

it('the package ships them, and the templates name them', () => {
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect(files).toContain('templates');
  expect(readdirSync(join(root, 'templates', 'schemas')).sort()).toEqual([...schemas.keys()].sort());
  for (const [template, name] of [
    ['config.yaml', 'config'],
    ['plans/release.yaml', 'plan'],
    ['plans/agent.yaml', 'plan'],
  ]) {
    const [first] = readFileSync(join(root, 'templates', template ?? ''), 'utf8').split('\n');
    expect(first).toBe(`# yaml-language-server: $schema=${schemas.get(`${name}.schema.json`)?.$id}`);
  }
});

/** Does a value pass a schema that the package ships? */
function passes(name: string, value: unknown): boolean {
  const schema = JSON.parse(readFileSync(join(root, 'templates', 'schemas', `${name}.schema.json`), 'utf8'));
  return z.fromJSONSchema(schema).safeParse(value).success;
}

describe('a schema agrees with orch on', () => {
  it.each<[what: string, text: string]>([
    [
      'everything',
      readFileSync(join(root, 'templates/config.yaml'), 'utf8').replace(/^(\s*)# (?=\w+:)/gm, '$1'),
    ],
    ['an empty section', 'checkpoint:\nbudget: 5.50\n'],
    ['gates', 'gates: [{ name: test, run: npm test, timeout: 5m }]\nretention: { failed: off }\n'],
    ['a wrong key', 'checkpont: {}\n'],
    ['a wrong trigger', 'checkpoint: { on: [sometimes] }\n'],
    ['a number that is too large', 'checkpoint: { keep: 101 }\n'],
    ['a gate without a command', 'gates: [{ name: test }]\n'],
    ['prices', 'prices: { m: { input: 3, output: 15 } }\n'],
    ['a price that is a text', 'prices: { m: { input: cheap, output: 15 } }\n'],
  ])('a config: %s', (_, text) => {
    const isRight = isTaken(() => parseConfig(text, 'config.yaml'));
    expect([text, passes('config', parse(text))]).toEqual([text, isRight]);
  });

  it.each<[what: string, text: string]>([
    ['the release template', readFileSync(join(root, 'templates/plans/release.yaml'), 'utf8')],
    ['the agent template', readFileSync(join(root, 'templates/plans/agent.yaml'), 'utf8')],
    ['steps', 'name: x\nsteps:\n  - { id: 1, run: [a, b], needs: [] }\n  - { id: two, run: c, needs: 1 }\n'],
    ['a task without an id', 'tasks: [{ run: make }]\n'],
    ['a key that is not one', 'tasks: [{ id: a, run: make, need: [] }]\n'],
    [
      'a wrong method',
      'tasks: [{ id: a, effects: [{ id: e, request: { method: SEND, url: http://x } }] }]\n',
    ],
  ])('a plan: %s', (_, text) => {
    const isRight = isTaken(() => parsePlan(text, 'plan.yaml'));
    expect([text, passes('plan', parse(text))]).toEqual([text, isRight]);
  });

  it('a stored document and its runs', async () => {
    const where = { cwd: makeRepositoryWithCommit().folder };
    await saveCheckpoint({ epicId: 'x', facts: [{ kind: 'note', id: 'n1', text: 'one' }] }, where);
    const plan = parsePlan(
      'name: p\ntasks: [{ id: a, run: "true", effects: [{ id: e, run: "true" }] }]\n',
      'p',
    );
    await runPlan(plan, { epicId: 'x' }, where);
    const { document } = (await loadLatestCheckpoint('x', where)) ?? expect.fail();
    expect(passes('checkpoint', document)).toBe(true);
    const [run] = Object.values(document.state.runs);
    expect(passes('run', run?.value)).toBe(true);
    expect(passes('run', { ...run?.value, tasks: 3 })).toBe(false);
    for (const wrong of [{ seq: 0 }, { sessionId: 'me' }, { trigger: 'sometimes' }, { integrity: 'none' }])
      expect([wrong, passes('checkpoint', { ...document, ...wrong })]).toEqual([wrong, false]);
    const { state: _, ...rest } = document;
    expect(passes('checkpoint', rest)).toBe(false);
  });
});

function isTaken(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
