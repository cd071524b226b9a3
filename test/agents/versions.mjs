// Which agents the end-to-end tests run, and where they are kept.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const machine = `${process.platform}-${process.arch}`;

/** Outside the repository: hundreds of megabytes, and shared by all checkouts. */
export const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'orch-agents');

/** The pinned agents: another version may behave differently, so a change of these is a change to test. */
export const agents = {
  claude: {
    name: 'Claude Code',
    version: '2.1.325',
    spec: `@anthropic-ai/claude-code-${machine}@2.1.325`,
    program: join('node_modules', '@anthropic-ai', `claude-code-${machine}`, 'claude'),
  },
  codex: {
    name: 'Codex',
    version: '0.166.0',
    spec: `@openai/codex@0.166.0-${machine}`,
    program: join('node_modules', '@openai', 'codex', 'vendor', targetOf(machine), 'bin', 'codex'),
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

/** The folder one version of an agent is kept in. */
export function folderOf(agent) {
  return join(cache, `${agent}-${agents[agent].version}-${machine}`);
}

/** The agent's program, or null where it was not installed. */
export function programOf(agent) {
  const program = join(folderOf(agent), agents[agent].program);
  return existsSync(program) ? program : null;
}
