import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readMerged, statusesOf } from '../support/convoys.ts';
import { claudeProgram, startClaude } from './support/claude.ts';
import { isFor, orch, runConvoy, stageConvoy, taskOf } from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';

const skill = readFileSync(new URL('../../templates/plugin/skills/convoy/SKILL.md', import.meta.url), 'utf8');

/** A command as the skill says it, with what is to be filled in. */
function say(beginning: string, words: Record<string, string> = {}): string {
  const [, command = ''] = new RegExp(`\`(orch convoy ${beginning}[^\`]*)\``).exec(skill) ?? [];
  if (command === '') throw new Error(`the skill has no such command: ${beginning}`);
  return Object.entries(words).reduce((text, [name, word]) => text.replaceAll(name, word), command);
}

describe.skipIf(!claudeProgram)('a Claude Code that does a convoy with its subagents', () => {
  it('follows the skill: claims, hands over, and says when it is done; the gates decide', async () => {
    const staged = await stageConvoy(
      `worker: { agent: claim, attempts: 2 }
tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file, needs: [one] }
`,
      {
        gates: `[{ name: test, run: 'test ! -e one.txt || grep -q right one.txt' }]`,
        claude: (folder) => {
          const claimed = (field: string) =>
            `$(node -p 'JSON.parse(fs.readFileSync(process.env.HOME+"/claim")).${field}')`;
          const claim = `${say('claim')} > "$HOME/claim"; echo "claimed: $?"`;
          const subagent = (task: string) => ({
            tool: 'Task',
            input: { description: task, prompt: `You do task-${task}.`, subagent_type: 'general-purpose' },
          });
          const done = (task: string, lease: string) =>
            bashTool(
              `${say('done auth/TASK --lease LEASE --json', { TASK: task, LEASE: lease })}; echo "status: $?"`,
            );
          return [
            { words: 'do the convoy', tools: [{ tool: 'Skill', input: { skill: 'orch:convoy' } }] },
            {
              words: 'do the convoy',
              tools: [bashTool(say('start', { 'auth.yaml': 'plan.yaml' }))],
            },
            { words: 'do the convoy', tools: [bashTool(claim)] },
            { words: 'do the convoy', tools: [bashTool(claim.replace('$HOME/claim', '$HOME/none'))] },
            { words: 'do the convoy', tools: [subagent('one')] },
            { words: 'do the convoy', text: 'I wait for it.' },
            { words: 'You do task-one', tools: [bashTool(`cat "${claimed('promptFile')}"`)] },
            { words: 'You do task-one', tools: [writeTool(`${folder}/one`, 'one.txt', 'wrong\n')] },
            { words: 'You do task-one', tools: [done('one', claimed('lease'))] },
            { words: 'You do task-one', tools: [bashTool(`echo right > ${folder}/one/one.txt`)] },
            { words: 'You do task-one', tools: [done('one', '2')] },
            { words: 'You do task-one', text: 'Merged.' },
            { words: 'task-notification', tools: [bashTool(claim)] },
            { words: 'task-notification', tools: [subagent('two')] },
            { words: 'task-notification', text: 'I wait for it.' },
            { words: 'You do task-two', tools: [writeTool(`${folder}/two`, 'two.txt', '2\n')] },
            { words: 'You do task-two', tools: [done('two', claimed('lease'))] },
          ];
        },
      },
    );
    const { repository, claude, environment } = staged;
    expect(orch(staged, 'init', '-y', '--no-codex').stdout).toContain('skills/convoy/SKILL.md');
    const projects = { [repository.folder]: { hasTrustDialogAccepted: true } };
    writeFileSync(
      join(repository.home, '.claude.json'),
      JSON.stringify({ hasCompletedOnboarding: true, projects }),
    );
    const ran = await startClaude(repository, 'do the convoy', {
      url: claude.url,
      env: environment,
      permissionMode: 'bypassPermissions',
    }).ended;
    expect({ status: ran.status, left: claude.script.left() }).toEqual({ status: 0, left: 0 });
    const heard = JSON.stringify(claude.asked.map(({ body }) => body.messages.at(-1)));
    expect(heard).toContain('A convoy done by your subagents');
    expect(heard).toContain('write the first file');
    expect(heard).toContain('claimed: 1');
    expect(heard).toContain('status: 3');
    const ended = await runConvoy(staged, 'show', 'auth');
    expect(statusesOf(ended.document)).toEqual({ one: 'done', two: 'done' });
    expect(taskOf(ended.document.convoy, 'one')).toMatchObject({ attempts: 2 });
    expect(readMerged(repository, 'auth')).toMatchObject({ 'one.txt': 'right', 'two.txt': '2' });
    const again = claude.asked.find((asked) => isFor(asked, 'status: 3'));
    expect(JSON.stringify(again?.body.messages)).toContain('fails on the merged tree');
    expect(repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
  });
});
