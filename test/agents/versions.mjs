// Which agents the end-to-end tests run, and the judge of their cost, and where they are kept.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const machine = `${process.platform}-${process.arch}`;

/** Outside the repository: hundreds of megabytes, and shared by all checkouts. */
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'orch-agents');

/** The pinned programs: another version may behave differently, so a change of these is a change to test. */
export const programs = {
  claude: {
    name: 'Claude Code',
    version: '2.1.326',
    spec: `@anthropic-ai/claude-code-${machine}@2.1.326`,
    program: join('node_modules', '@anthropic-ai', `claude-code-${machine}`, 'claude'),
  },
  codex: {
    name: 'Codex',
    version: '0.169.0',
    spec: `@openai/codex@0.169.0-${machine}`,
    program: join('node_modules', '@openai', 'codex', 'vendor', targetOf(machine), 'bin', 'codex'),
  },
  ccusage: {
    name: 'ccusage',
    version: '20.0.24',
    spec: `@ccusage/ccusage-${machine}@20.0.24`,
    program: join('node_modules', '@ccusage', `ccusage-${machine}`, 'bin', 'ccusage'),
  },
};

function targetOf(machine) {
  const targets = {
    'linux-x64': 'x86_64-unknown-linux-musl',
    'linux-arm64': 'aarch64-unknown-linux-musl',
    'darwin-x64': 'x86_64-apple-darwin',
    'darwin-arm64': 'aarch64-apple-darwin',
  };
  return targets[machine] ?? machine;
}

/** The folder one version of a program is kept in. */
export function folderOf(name) {
  return join(cache, `${name}-${programs[name].version}-${machine}`);
}

/** The file to run, or null where it was not installed. */
export function programOf(name) {
  const program = join(folderOf(name), programs[name].program);
  return existsSync(program) ? program : null;
}
