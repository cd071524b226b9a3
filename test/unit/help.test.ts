import { expect, it } from 'vitest';
import { loadAll } from '../../src/cli/all-commands.ts';
import { showCommands } from '../../src/cli/help.ts';
import { isGroup } from '../../src/cli/spec.ts';

it('every command is in the help, in groups, and the help fits on one screen', async () => {
  const specs = await loadAll();
  const lines = showCommands({ paint: (_, text) => text }, specs).split('\n');
  expect(lines.length).toBeLessThanOrEqual(44);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const headings = lines.filter((line) => /^[A-Z][a-z ]+$/.test(line));
  expect(headings).toEqual(['Daily', 'Agents and scripts', 'Plans', 'Upkeep']);
  for (const { name } of specs)
    expect(lines.some((line) => new RegExp(`^ .*\\b${name}\\b`).test(line))).toBe(true);
});

it('every command has examples that begin with its name', async () => {
  for (const spec of await loadAll()) {
    for (const { name, examples } of isGroup(spec) ? spec.commands : [spec])
      expect([name, examples.some((example) => example.includes(`orch `) && example.includes(name))]).toEqual(
        [name, true],
      );
  }
});
