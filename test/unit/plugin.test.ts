import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { addOrch as addToClaude } from '../../src/agents/claude/claude-settings.ts';
import { addOrch as addToCodex } from '../../src/agents/codex/codex-hooks.ts';

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const readJson = (name: string) => JSON.parse(readFileSync(pathOf(name), 'utf8'));

type Hooks = { hooks: Record<string, { hooks: { type: string; command: string; timeout: number }[] }[]> };

/** The hooks that settings have, each silent where `orch init` has put them into settings already. */
function unlessIn(
  files: string,
  agent: string,
  added: { readonly text: string } | { readonly problem: string },
) {
  if ('problem' in added) throw new Error(added.problem);
  const { hooks }: Hooks = JSON.parse(added.text);
  for (const [{ hooks: [hook] = [] } = { hooks: [] }] of Object.values(hooks))
    if (hook) hook.command = `grep -qs 'hook ${agent}' ${files} || { ${hook.command}; }`;
  return `${JSON.stringify({ hooks }, null, 2)}\n`;
}

// Where this fails because a hook was added: npx vitest run test/unit/plugin.test.ts --update
it('the plugins have the hooks that orch init writes', async () => {
  const command = ['orch'];
  const claude = addToClaude(null, { command, shared: true, version: '99.0.0' });
  const settings =
    '"$CLAUDE_PROJECT_DIR/.claude/settings.local.json" "$CLAUDE_PROJECT_DIR/.claude/settings.json"';
  await expect(unlessIn(settings, 'claude', claude)).toMatchFileSnapshot(
    pathOf('templates/plugin/hooks/hooks.json'),
  );
  const codex = addToCodex(null, { command, shared: true });
  const hookFiles = `"\${CODEX_HOME:-$HOME/.codex}/hooks.json" "$(git rev-parse --show-toplevel 2>/dev/null)/.codex/hooks.json"`;
  await expect(unlessIn(hookFiles, 'codex', codex)).toMatchFileSnapshot(
    pathOf('templates/plugin/hooks/codex.json'),
  );
});

it('the plugins have the version of the package, and the marketplace names what is there', () => {
  const { version } = readJson('package.json');
  for (const agent of ['claude', 'codex'])
    expect(readJson(`templates/plugin/.${agent}-plugin/plugin.json`)).toMatchObject({
      name: 'orch',
      version,
    });
  const { plugins } = readJson('.claude-plugin/marketplace.json');
  expect(plugins).toMatchObject([{ name: 'orch', source: './templates/plugin' }]);
  expect(readJson('package.json').files).toEqual(expect.arrayContaining(['templates', '.claude-plugin']));
});
