import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What a real agent wrote, as it was recorded: `claude/statusline/filled.json`. */
export function readFixture(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../fixtures/agents/${name}`, import.meta.url)), 'utf8');
}
