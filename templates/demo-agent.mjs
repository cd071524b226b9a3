// Stands in for a coding agent in `orch demo`: it changes real files, records what it does, and costs money.
// Any program can do the same: orch passes the brief in a file, and `orch record` stores what happens.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const orch = (...args) => execFileSync(process.execPath, [process.env.DEMO_ORCH, '--quiet', ...args]);
const say = (text) => console.log(`agent: ${text}`);

const brief = existsSync(process.env.ORCH_BRIEF_FILE ?? '')
  ? readFileSync(process.env.ORCH_BRIEF_FILE, 'utf8')
  : '';
const now = /\*\*Now:\*\* (.*)/.exec(brief)?.[1];

mkdirSync('src', { recursive: true });
try {
  if (!now) {
    say('Starting with the form');
    orch('record', 'task', 'Redirect to /home after login');
    writeFileSync('src/login.js', 'export const form = "<form>…</form>";\n');
    orch('record', 'cost', '0.21', '--model', 'demo-model');
    orch('record', 'note', 'The login form is done');
    orch('record', 'decision', 'Server sessions, not JWT', '--rationale', 'they can be revoked');
    await sleep(2_200);
    orch('record', 'tried', 'Redirect in the middleware: it loops');
    writeFileSync('src/router.js', 'export const routes = ["/login", "/home"];\n');
    orch('record', 'cost', '0.17', '--model', 'demo-model');
    say('Now the redirect, in the handler …');
    await sleep(60_000); // the demo kills it before this ends
  }
  say(`Read the brief. Continuing with: ${now}`);
  orch('record', 'note', 'The redirect belongs in the handler');
  for (let turn = 1; ; turn++) {
    appendFileSync('src/login.js', `export const redirect${turn} = "/home";\n`);
    say(`turn ${turn}`);
    orch('record', 'cost', '0.24', '--model', 'demo-model');
    await sleep(400);
  }
} catch (error) {
  if (error.status === 4) say('The budget is used up, stopping');
  else throw error;
}
