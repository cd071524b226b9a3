import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../fixtures/agents', import.meta.url));

/** What was recorded from the real agents; `test/agents/*.record.ts` makes it anew. */
const samples = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return { name: relative(folder, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') };
  });

describe('samples of the real agents', () => {
  it('are small, whole, and name no machine', () => {
    for (const { name, text } of samples) {
      expect(text.length, name).toBeLessThan(50_000);
      expect(text, name).not.toMatch(/orch-test|(?<!\/home)\/tmp\/|\/Users\/|\/root\//);
      const documents = name.endsWith('.jsonl') ? text.trimEnd().split('\n') : [text];
      for (const document of documents) expect(() => JSON.parse(document), name).not.toThrow();
    }
  });

  it('have every moment of a session', () => {
    const names = samples.map(({ name }) => name.replace(/\.jsonl?$/, ''));
    expect(names).toEqual(
      expect.arrayContaining([
        ...['startup', 'resume', 'clear', 'compact'].map((source) => `claude/hooks/SessionStart-${source}`),
        ...['UserPromptSubmit', 'Stop', 'TaskCreated', 'TaskCompleted'].map((each) => `claude/hooks/${each}`),
        ...['Write', 'Edit', 'Bash', 'TodoWrite', 'TaskCreate', 'Agent'].flatMap((tool) => [
          `claude/hooks/PreToolUse-${tool}`,
          `claude/hooks/PostToolUse-${tool}`,
        ]),
        'claude/hooks/PostToolUseFailure-Bash',
        'claude/hooks/PreCompact-manual',
        'claude/hooks/PostCompact-manual',
        'claude/hooks/StopFailure-rate_limit',
        'claude/hooks/SubagentStop-subagent',
        'claude/hooks/SessionEnd-clear',
        'claude/statusline/filled',
        'claude/stream/work',
        'claude/transcripts/work',
        'claude/transcripts/agent-subagent',
        'codex/exec/work',
        'codex/rollouts/work',
      ]),
    );
  });

  it('hold the event they are named after', () => {
    for (const { name, text } of samples.filter((sample) => sample.name.includes('/hooks/'))) {
      const event = name.split('/')[2]?.split(/[-.]/)[0];
      expect(JSON.parse(text).hook_event_name, name).toBe(event);
    }
  });
});
