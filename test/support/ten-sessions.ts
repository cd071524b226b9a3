import { makeAgent, processOfItsOwn } from './hooked-agent.ts';
import { runOrch } from './orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';

/* Ten sessions on one feature, with prompts as people type them, told by the hooks of real conversations. */

const request =
  'Add login with server sessions (no JWT, legal wants revocation), argon2, max 5 attempts per 15 min, no new npm dependencies';

const failedTests = `# Subtest: locks after 5 attempts
not ok 1 - locks after 5 attempts
  ---
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    200 !== 429

  code: 'ERR_ASSERTION'
  ...
ok 2 - refreshes the page # SKIP
ok 3 - logs in
# tests 3
# pass 1
# fail 1
# skipped 1
`;

const notification =
  '<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n<summary>Background command finished</summary>\n</task-notification>';

/** Plays them in a repository of their own; the epic is `login`. */
export function playTenSessions(): TestRepository {
  const repository = makeRepositoryWithCommit();
  repository.write('src.js', 'export {};\n');
  repository.git('add', '.');
  repository.git('commit', '--quiet', '-m', 'Before all of it');
  let number = 0;
  const session = (play: (agent: ReturnType<typeof talk>) => void, isCrash = false) => {
    number++;
    // The first four are one conversation, which was ended and continued.
    const conversation = Math.max(1, number - 3) % 10;
    const agent = talk(repository, `0000000${conversation}-1111-4222-8333-444444444444`);
    agent.call('SessionStart', { source: number > 1 && number <= 4 ? 'resume' : 'startup' });
    play(agent);
    if (isCrash) process.kill(agent.pid, 'SIGKILL');
    else agent.call('SessionEnd', { reason: 'other' });
  };

  session((agent) => {
    agent.ask(request);
    agent.task(1, 'Login form and handler');
    agent.task(2, 'Session store');
    agent.task(3, 'Attempt limiter');
    agent.task(4, 'Logout');
    agent.task(5, 'Docs');
    agent.bash('cat > login.js <<EOF …');
    repository.write('login.js', 'export const login = () => {};\n');
    agent.say(
      'The form is begun.\n\nargon2 needs a package, and there shall be none. Shall I use scrypt from node:crypto?',
    );
  });
  session((agent) => {
    agent.ask('go on');
    agent.tool('TaskUpdate', { taskId: '1', status: 'completed' });
    repository.write('handler.js', 'export const handle = () => {};\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '-m', 'Login form and handler');
    agent.say('The handler works.\n\nStill open: may I use scrypt instead of argon2?');
    agent.ask('ok');
    agent.say('Using scrypt.');
  });
  session((agent) => {
    agent.ask(notification);
    agent.ask('where do the sessions live, in files?');
    agent.say('Nowhere yet. Shall I keep them in files?');
    agent.ask('yes but in memory');
    repository.write('session.js', `${'export const sessions = new Map();\n'.repeat(5)}`);
    agent.call('PostToolUse', {
      tool_name: 'ExitPlanMode',
      tool_input: { plan: '# Limiter plan\n\n1. count attempts\n2. a window of 15 min\n3. answer 429' },
      tool_response: {
        plan: '# Limiter plan\n\n1. count attempts\n2. a window of 15 min\n3. answer 429',
        isAgent: false,
      },
    });
    agent.say('The session store is done.');
  });
  session((agent) => {
    agent.ask('continue');
    agent.call('PreCompact', { trigger: 'auto' });
    agent.call('SessionStart', { source: 'compact' });
    repository.git('add', '.');
    repository.git('commit', '--quiet', '-m', 'Session store');
    agent.tool('TaskUpdate', { taskId: '2', status: 'completed' });
    agent.say('Committed the session store.');
  });
  session((agent) => {
    agent.ask('go on');
    agent.task(1, 'Compare stores', 'completed');
    agent.record(['record', 'tried', 'a file store with fs.watch', '--why', 'loses writes']);
    agent.say('The file store loses writes, so it stays in memory.');
  });
  session((agent) => {
    agent.ask('next');
    agent.call('PostToolUse', {
      tool_name: 'AskUserQuestion',
      tool_input: { questions: [{ question: 'How are the 15 minutes rounded?' }] },
      tool_response: { answers: { 'How are the 15 minutes rounded?': 'half up' } },
    });
    agent.say('Rounded half up.');
  });
  session((agent) => {
    agent.ask('ok go on');
    repository.write('limit.js', `${'export const allowed = () => true;\n'.repeat(3)}`);
    repository.write('login.test.js', 'test\n');
    agent.bash('npm test', failedTests);
  }, true);
  session((agent) => {
    agent.ask('yes');
    repository.git('add', 'limit.js');
    repository.git('commit', '--quiet', '-m', 'limiter wip');
    repository.write('limit.js', `${'export const allowed = () => true;\n'.repeat(9)}`);
    agent.bash('npm test', failedTests);
    agent.say(
      `I have looked at the limiter in depth.\n\n${'It counts every attempt and says how many are left. '.repeat(30)}\n\n## Not done\n- the limiter has no time window; next is \`allowed(attempts, now)\`\n- logout\n- docs`,
    );
  });
  session((agent) => {
    agent.ask('Also log every lockout with the address, but never the password.');
    agent.say('Noted; nothing is written yet.');
  });
  session((agent) => {
    agent.ask('quick: is prettier configured?');
    agent.say('No.');
  });
  return repository;
}

/** A conversation that says what it does. */
function talk(repository: TestRepository, id: string) {
  const own = processOfItsOwn();
  const agent = makeAgent(repository, id, { ORCH_EPIC: 'login', ...own });
  const tool = (name: string, input: object, response: object = {}) =>
    agent.call('PostToolUse', { tool_name: name, tool_input: input, tool_response: response });
  return {
    ...agent,
    tool,
    ask: (prompt: string) => agent.call('UserPromptSubmit', { prompt }),
    say: (text: string) => agent.call('Stop', { last_assistant_message: text }),
    bash: (command: string, stdout = '') => tool('Bash', { command }, { stdout, stderr: '' }),
    task: (task: number, subject: string, status = 'pending') =>
      tool('TaskCreate', { subject, status }, { task: { id: String(task), subject } }),
    pid: Number(own.CLAUDE_PID),
    record: (args: string[]) => runOrch(repository, [...args, '-e', 'login']),
  };
}
