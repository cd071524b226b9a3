import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runCommand } from './commands.js';
import { compare, measure, median } from './measure.js';
import { environment, makeFolder, makeRepository, orchBin, removeFolder } from './scratch.js';
import { loadStandIn } from './stand-in.js';

const tools = 20;
const rounds = Number(process.env.ORCH_BENCH_ROUNDS) || 9;
const epic = 'bench';
const events = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop', 'SessionEnd'];

/** The real Claude Code, or null. Its place is below the user's own home, not the benchmark's. */
async function findClaude() {
  process.env.XDG_CACHE_HOME = join(userInfo().homedir, '.cache');
  const { programOf } = await import('../agents/versions.mjs');
  delete process.env.XDG_CACHE_HOME;
  return programOf('claude');
}

/** A turn with many quick tools, in the real Claude Code: without hooks, with hooks that do nothing, and with orch. */
export async function run() {
  const claude = await findClaude();
  if (claude === null) {
    process.stderr.write('hooks: SKIPPED, Claude Code is not installed: node test/agents/install.mjs\n');
    return [];
  }
  const { startAnthropicModel, endTest } = await loadStandIn();
  const model = await startAnthropicModel();
  /** When the model was asked, in the run that is under way. */
  let asked = [];
  const toolTimes = {};
  const makeSide = (name, hookIn) => {
    toolTimes[name] = [];
    return {
      prepare: async (round) => {
        const home = makeFolder();
        const folder = makeRepository();
        await hookIn(folder, home);
        asked = [];
        const when = ({ body }) => body?.tools?.length > 0 && asked.push(performance.now()) > 0;
        const use = { tool: 'Bash', input: { command: 'true', description: 'nothing' } };
        for (let left = tools; left > 0; left--) model.script.add({ when, tools: [use] });
        model.script.add({ when, text: 'Done.' });
        return { round, folder, home };
      },
      run: async ({ round, folder, home }) => {
        await runClaude(claude, folder, home, model.url);
        if (asked.length !== tools + 1) throw new Error(`the model was asked ${asked.length} times`);
        if (round >= 0) toolTimes[name].push((asked.at(-1) - asked[0]) / tools);
        removeFolder(folder);
        removeFolder(home);
      },
    };
  };
  const hookOrch = (budget) => async (folder, home) => {
    const env = { ...environment, HOME: home, PATH: `${dirname(claude)}${delimiter}${environment.PATH}` };
    const orch = (...args) => runCommand(process.execPath, [orchBin, ...args], { cwd: folder, env });
    await orch('init', '-y', '--no-codex');
    if (budget !== null) await orch('cost', 'budget', budget, '--epic', epic);
  };
  const times = await measure(
    {
      bare: makeSide('bare', () => {}),
      idle: makeSide('idle', hookNothing),
      none: makeSide('none', hookOrch(null)),
      far: makeSide('far', hookOrch('100')),
      near: makeSide('near', hookOrch('0.5')),
    },
    { rounds, warmUp: 1 },
  );
  await endTest();
  return [
    describeRun('no budget', 'none', times, toolTimes, bars),
    describeRun('a budget far away', 'far', times, toolTimes, bars),
    describeRun('a budget that is near', 'near', times, toolTimes, {}),
  ].flat();
}

/** At most so many times as long as with hooks that do nothing, and so many milliseconds more for each tool. */
const bars = { run: 1.5, tool: 15 };

function describeRun(what, name, times, toolTimes, { run: bar, tool }) {
  const bare = compare(times[name], times.bare);
  const { ours, theirs } = compare(toolTimes[name], toolTimes.idle);
  const differences = toolTimes[name].map((value, round) => value - toolTimes.idle[round]);
  return [
    {
      what: `claude -p with ${tools} tools, ${what}`,
      against: 'hooks that do nothing',
      ...compare(times[name], times.idle),
      ...(bar && { bar }),
      note: `${bare.ratio.toFixed(2)} times as long as without hooks (${bare.theirs.toFixed(0)} ms)`,
    },
    {
      what: `each of its tools, ${what}`,
      against: 'hooks that do nothing',
      ours,
      theirs,
      difference: median(differences),
      ...(tool && { bar: tool }),
    },
  ];
}

function hookNothing(folder) {
  const hook = { type: 'command', command: 'exit 0', timeout: 30 };
  const hooks = Object.fromEntries(events.map((event) => [event, [{ hooks: [hook] }]]));
  mkdirSync(join(folder, '.claude'));
  writeFileSync(join(folder, '.claude', 'settings.local.json'), JSON.stringify({ hooks }));
}

/** Nothing but the stand-in is reached. */
function runClaude(claude, folder, home, url) {
  const env = {
    ...environment,
    HOME: home,
    ORCH_EPIC: epic,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'x',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1',
    CLAUDE_CODE_TMPDIR: home,
  };
  const args = ['-p', 'Go on', '--model', 'claude-sonnet-4-5', '--allowedTools', 'Bash'];
  return runCommand(claude, args, { cwd: folder, env });
}
