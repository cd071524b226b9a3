import { homedir } from 'node:os';
import { expect, it } from 'vitest';
import { useOwnProcesses } from '../support/hosted.ts';
import { bead, dep, toLines } from '../support/issues.ts';
import { makeMachine } from '../support/machine.ts';
import { hello } from '../support/mcp.ts';
import { runOrch } from '../support/orch.ts';
import type { TestRepository } from '../support/repository.ts';
import { writeSpec } from '../support/specs.ts';
import { writeConfig } from '../support/supervised.ts';

useOwnProcesses();

/*
 * What each command prints, in one story of a repository: a file per command in test/golden/. After a message is
 * reworded: `npx vitest run test/e2e/golden.test.ts -u`, and read the difference. Other tests assert codes and facts.
 */

const plan = `name: release
tasks:
  - { id: build, run: "echo built > built.txt" }
  - { id: check, run: "test -s built.txt", needs: [build] }
  - { id: publish, needs: [check], effects: [{ id: tag, run: "echo tagged" }] }
`;
const issues = [
  bead('bd-1', { title: 'Add login', priority: 1 }),
  bead('bd-2', { dependencies: [dep('bd-2', 'bd-1'), dep('bd-2', 'gt-7')] }),
  bead('bd-3', { status: 'closed' }),
];
const line = {
  session_id: 'agent-1',
  model: { id: 'claude-sonnet-4-5', display_name: 'Sonnet 4.5' },
  context_window: { context_window_size: 200_000, total_input_tokens: 150_000 },
  cost: { total_cost_usd: 0 },
};

type Call = { readonly args: string; readonly input?: string };
const say = (args: string, input?: string): Call => (input === undefined ? { args } : { args, input });

const hook = (hook_event_name: string, fields: object) =>
  say('hook claude', JSON.stringify({ session_id: 'agent-1', hook_event_name, ...fields }));

/** The story, by command. A word in quotes is one argument. */
const story: readonly (readonly [command: string, ...calls: Call[]])[] = [
  ['help', say('--help'), say('restore --help')],
  ['init', say('init -y'), say('init --undo -y')],
  ['checkpoint', say('checkpoint create -e login -r "First steps"')],
  [
    'record',
    say('record decision "Use JWT" -e login'),
    say('record tried Sessions --why "Too slow" -e login'),
  ],
  ['cost', say('cost budget 5 -e login'), say('record cost 1.25 -e login'), say('cost -e login')],
  ['start', say('start -e login --no-baseline -- sh -c "echo two > work.txt"')],
  ['resume', say('resume -e login --no-baseline -- sh -c true'), say('resume -e no-such-epic -- true')],
  ['status', say('status')],
  ['log', say('log -e login')],
  [
    'list',
    say('checkpoint list -e login'),
    say('checkpoint show 1 -e login'),
    say('checkpoint verify -e login'),
  ],
  ['diff', say('diff 1 -e login')],
  ['restore', say('restore 1 -e login --dry-run'), say('restore 1 -e login -y'), say('restore --undo -y')],
  ['brief', say('brief -e login')],
  ['session', say('session list -e login'), say('session status -e login'), say('session show s2 -e login')],
  ['pause', say('pause -e login'), say('complete -e login')],
  [
    'epic',
    say('epic list'),
    say('epic rename login signin -y'),
    say('epic archive signin -y'),
    say('epic delete signin -y'),
  ],
  [
    'run',
    say('run plan.yaml -e release --dry-run'),
    say('run plan.yaml -e release'),
    say('run --list -e release'),
  ],
  [
    'import',
    say('import beads -', toLines(issues)),
    say('import beads - --allow-loss', toLines(issues)),
    say('import github no.json'),
  ],
  ['batch', say('batch status'), say('batch next'), say('batch complete -e spec')],
  ['baseline', say('baseline -e release')],
  ['hook', hook('SessionStart', { source: 'startup' }), hook('UserPromptSubmit', { prompt: 'Make it fast' })],
  ['statusline', say('statusline', JSON.stringify(line)), hook('SessionEnd', { reason: 'other' })],
  ['mcp', say('mcp', hello)],
  ['sync', say('sync')],
  ['doctor', say('doctor')],
  ['cleanup', say('cleanup --dry-run'), say('cleanup')],
  ['completion', say('completion fish')],
  ['errors', say('no-such-command'), say('restore 99 -e release -y'), say('record cost much -e release')],
];

/** Without what differs from run to run and from machine to machine. */
function normalise(text: string, { home, folder, git }: TestRepository): string {
  const oids = git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n');
  return text
    .replaceAll(folder, '/repository')
    .replaceAll(home, '/home/user')
    .replaceAll(homedir(), '/home/user')
    .replaceAll(process.execPath, '/bin/node')
    .replace(/\/\S*\/bin\/orch\.js/g, '/bin/orch.js')
    .replace(/\b(ckpt-\d{8}|sess|run|w|dec|tried|note|clone)-[a-z2-9]{4,12}\b/g, '$1-ID')
    .replace(/\b[0-9a-f]{7,40}\b/g, (word) => (oids.some((oid) => oid.startsWith(word)) ? 'OID' : word))
    .replace(/\b(?:in |took )?\d+(\.\d+)? (ms|s)\b/g, 'N s')
    .replace(/\b\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?/g, 'DATE')
    .replace(/ +\d+s\b/g, ' Ns')
    .replace(/\b\d+d ago\b/g, 'Nd ago')
    .replace(/\b\d\d:\d\d(:\d\d)?\b/g, 'TIME')
    .replace(/\b\d+(\.\d+)? (B|KB|MB|GB)\b/g, 'N $2')
    .replace(/\bpid \d+/g, 'pid N')
    .replace(/\bv?\d+\.\d+\.\d+[^\s,"]*/g, 'VERSION')
    .replace(/(loose objects +)(few|about \d+)/, '$1HOW MANY');
}

const split = (args: string) =>
  [...args.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

it('every command prints what it printed before', async () => {
  const machine = makeMachine();
  writeConfig(machine, 'gates:\n  - { name: test, run: "test -d ." }\n');
  machine.write('plan.yaml', plan);
  machine.write('work.txt', 'one\n');
  writeSpec(machine);
  let minute = 0;
  for (const [command, ...calls] of story) {
    const printed = calls.map(({ args, input }) => {
      const now = new Date(Date.UTC(2027, 0, 15, 10, minute++)).toISOString();
      const env = {
        PATH: machine.bin,
        ORCH_NOW: now,
        ORCH_WRITER: 'w-golden',
        ORCH_TRUST: '1',
        CLAUDE_PID: String(process.pid),
        TZ: 'UTC',
      };
      const { status, stdout, stderr } = runOrch(machine, split(args), {
        env,
        ...(input === undefined ? {} : { input }),
      });
      const parts = [
        `$ orch ${args}`,
        stdout,
        stderr && `stderr:\n${stderr}`,
        status ? `exit ${status}` : '',
      ];
      return parts
        .map((part) => part.trimEnd())
        .filter(Boolean)
        .join('\n');
    });
    const text = `${normalise(printed.join('\n\n'), machine)}\n`;
    await expect.soft(text, command).toMatchFileSnapshot(`../golden/${command}.txt`);
  }
});
