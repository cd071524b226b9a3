// Stands in for a coding agent in `orch demo convoy`: it does one task of the plan in its own worktree, records what that
// costs, and reads in its prompt why work was sent back. Any program can do the same.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const { ORCH_TASK: task, ORCH_PROMPT_FILE: promptFile = '', DEMO_ORCH } = process.env;
const prompt = readFileSync(promptFile, 'utf8');
const orch = (...args) => execFileSync(process.execPath, [DEMO_ORCH, '--quiet', ...args]);
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
const say = (text) => console.log(`${task}: ${text}`);

/** Adds a line at the end of the list, where the other page is added too. */
async function addPage(page, seconds) {
  if (prompt.includes('conflicts')) {
    say('Merging what others did, and keeping both pages');
    try {
      git('merge', 'orch/shop/merged');
    } catch {
      const lines = readFileSync('pages.txt', 'utf8').split('\n');
      writeFileSync('pages.txt', lines.filter((line) => !/^[<=>]{7}/.test(line)).join('\n'));
      git('commit', '--quiet', '--all', '--message', `Keep both: ${page}`);
    }
    return;
  }
  say(`Adding ${page}`);
  appendFileSync('pages.txt', `${page}\n`);
  writeFileSync(`${task}.html`, `<h1>${task}</h1>\n`);
  await sleep(seconds * 1_000);
}

const work = {
  login: () => addPage('/login', 0.5),
  search: () => addPage('/search', 2),
  prices: async () => {
    const isRed = prompt.includes('The gate "test" fails');
    say(isRed ? 'Rounding to cents, as the test asks' : 'Adding up prices');
    const sum = isRed ? 'Math.round((a + b) * 100) / 100' : 'a + b';
    writeFileSync('prices.mjs', `export const add = (a, b) => ${sum};\n`);
    await sleep(isRed ? 300 : 2_000);
  },
  guide: async () => {
    if (!existsSync('guide.md')) {
      say('Writing chapter 1');
      writeFileSync('guide.md', '# Chapter 1\n');
      const shop = dirname(git('rev-parse', '--path-format=absolute', '--git-common-dir'));
      writeFileSync(join(dirname(shop), 'guide.pids'), `${process.ppid} ${process.pid}\n`);
      await sleep(60_000); // the demo kills it before this ends
    }
    say('Chapter 1 is there. Writing chapter 2');
    appendFileSync('guide.md', '# Chapter 2\n');
  },
};

await work[task]();
orch('record', 'cost', '0.12', '--model', 'demo-model');
say('Done');
