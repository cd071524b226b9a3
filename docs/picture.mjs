// Records docs/orch.svg: real orch commands, typed into a terminal (tmux) in a scratch repository.
// Run it with `npm run picture`. It needs tmux and git, and takes about 15 seconds.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const columns = 106;
const home = mkdtempSync(join(tmpdir(), 'orch-picture-'));
const shop = join(home, 'shop');
const prompts = join(home, 'prompts');
const env = {
  PATH: `${join(home, 'bin')}:${process.env.PATH}`,
  HOME: home,
  LANG: 'C.UTF-8',
  TERM: 'xterm-256color',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_PAGER: 'cat',
  DEMO_ORCH: join(root, 'bin', 'orch.js'),
};
const run = (program, args) => execFileSync(program, args, { cwd: shop, env, encoding: 'utf8' });
const tmux = (...args) => run('tmux', ['-L', `orch-picture-${process.pid}`, '-f', '/dev/null', ...args]);
const readScreen = () => tmux('capture-pane', '-e', '-p', '-t', 'picture').trimEnd();
const countPrompts = () => (existsSync(prompts) ? readFileSync(prompts, 'utf8').length : 0);

async function waitUntil(isSo, what) {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (isSo()) return;
    await sleep(50);
  }
  throw new Error(`waited a minute for ${what}; the screen shows:\n${readScreen()}`);
}

function type(line) {
  tmux('send-keys', '-t', 'picture', '-l', line);
  tmux('send-keys', '-t', 'picture', 'Enter');
}

async function runToItsEnd(line) {
  const before = countPrompts();
  type(line);
  await waitUntil(() => countPrompts() > before, `the end of: ${line}`);
}

function prepare() {
  mkdirSync(shop);
  mkdirSync(join(home, 'bin'));
  const orch = `#!/bin/sh\nexec '${process.execPath}' '${env.DEMO_ORCH}' "$@"\n`;
  writeFileSync(join(home, 'bin', 'orch'), orch, { mode: 0o755 });
  const prompt = String.raw`PS1='\[\e[1;32m\]$\[\e[0m\] '`;
  writeFileSync(join(home, 'shell'), `${prompt}\nPROMPT_COMMAND='printf x >> ${prompts}'\n`);
  copyFileSync(join(root, 'templates', 'demo-agent.mjs'), join(shop, 'agent.mjs'));
  run('git', ['init', '--quiet', '--initial-branch=main', '.']);
  run('git', ['config', 'user.name', 'You']);
  run('git', ['config', 'user.email', 'you@example.com']);
  run('git', ['add', '.']);
  run('git', ['commit', '--quiet', '--message', 'The shop']);
}

/** The process that the terminal's shell waits for. */
function findForeground() {
  const shell = tmux('display-message', '-p', '-t', 'picture', '#{pane_pid}').trim();
  return Number(run('ps', ['-o', 'pid=', '--ppid', shell]).trim());
}

async function play() {
  const shell = ['bash', '--noprofile', '--rcfile', join(home, 'shell')];
  tmux('new-session', '-d', '-s', 'picture', '-x', String(columns), '-y', '70', ...shell);
  await waitUntil(() => countPrompts() > 0, 'the shell');
  const before = countPrompts();
  type('orch start -e login --budget 1 -- node agent.mjs');
  await waitUntil(() => readScreen().includes('in the handler'), 'the agent');
  process.kill(findForeground(), 'SIGKILL');
  await waitUntil(() => countPrompts() > before, 'the end of the killed session');
  await runToItsEnd('# That was kill -9. Nothing is lost:');
  await runToItsEnd('orch status');
  await runToItsEnd('orch resume -e login -- node agent.mjs');
  await runToItsEnd('# It is all plain git, beside your branches:');
  await runToItsEnd('git log --oneline orchestration/epics/login');
  const lines = readScreen().split('\n');
  return lines.slice(0, -1); // the last is an empty prompt
}

const colours = ['#484f58', '#ff7b72', '#7ee787', '#e3b341', '#79c0ff', '#d2a8ff', '#76e3ea', '#d0d7de'];
const plain = { colour: '#d0d7de', isBold: false, isDim: false };

/** What a style becomes after the codes of one escape sequence. */
function restyle(style, codes) {
  let next = style;
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) next = plain;
    else if (code === 1) next = { ...next, isBold: true };
    else if (code === 2) next = { ...next, isDim: true };
    else if (code === 22) next = { ...next, isBold: false, isDim: false };
    else if (code === 39) next = { ...next, colour: plain.colour };
    else if (code % 10 < 8 && [3, 9].includes(Math.floor(code / 10)))
      next = { ...next, colour: colours[code % 10] };
  }
  return next;
}

const cell = { width: 8.43, height: 19 };
const margin = { left: 18, top: 46 };

function drawLine(line, row) {
  const y = margin.top + row * cell.height + 14;
  let style = plain;
  let column = 0;
  let drawn = '';
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    const codes = /^\u001b\[([\d;]*)m$/.exec(part)?.[1];
    if (codes !== undefined) style = restyle(style, codes);
    else if (part !== '') {
      const x = (margin.left + column * cell.width).toFixed(1);
      const length = ([...part].length * cell.width).toFixed(1);
      const text = part.replace(/[&<>]/g, (found) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[found]);
      const look = `${style.isBold ? ' font-weight="bold"' : ''}${style.isDim ? ' opacity="0.65"' : ''}`;
      if (part.trim() !== '')
        drawn += `<text x="${x}" y="${y}" textLength="${length}" fill="${style.colour}"${look}>${text}</text>\n`;
      column += [...part].length;
    }
  }
  return drawn;
}

function draw(lines) {
  const width = Math.ceil(margin.left * 2 + columns * cell.width);
  const height = margin.top + lines.length * cell.height + 16;
  const lights = ['#ff5f57', '#febc2e', '#28c840']
    .map((colour, index) => `<circle cx="${24 + index * 20}" cy="22" r="6" fill="${colour}"/>`)
    .join('');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">
<title>A session is killed, shows up as interrupted, is resumed, and is stopped at its budget</title>
<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>
${lights}
${lines.map(drawLine).join('')}</svg>
`;
}

/** Ends the terminal, and waits for its shell: it still writes while it ends. */
async function close() {
  const shell = Number(tmux('display-message', '-p', '-t', 'picture', '#{pane_pid}'));
  tmux('kill-server');
  await waitUntil(() => !isRunning(shell), 'the end of the shell');
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

try {
  prepare();
  const lines = await play().finally(close);
  writeFileSync(join(root, 'docs', 'orch.svg'), draw(lines));
  console.log(`docs/orch.svg: ${lines.length} lines`);
} finally {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
