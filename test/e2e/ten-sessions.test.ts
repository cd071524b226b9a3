import { describe, expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { runOrch } from '../support/orch.ts';
import { playTenSessions } from '../support/ten-sessions.ts';
import { estimateTokens } from '../support/tokens.ts';

/** What the next agent must know, and where: the label it stands below. */
const must: readonly (readonly [label: string, text: string | RegExp])[] = [
  ['Goal', 'no JWT, legal wants revocation'],
  ['Goal', 'max 5 attempts per 15 min, no new npm dependencies (s1)'],
  ['Asked since', 'log every lockout with the address, but never the password. (s9)'],
  ['Decided', /scrypt instead of argon2\?” “ok” \(user, s2\)/],
  ['Decided', /keep them in files\?” “yes but in memory” \(user, s3\)/],
  ['Decided', /the plan “Limiter plan” \(user, s3/],
  ['Decided', 'half up (user, s6: answer to “How are the 15 minutes rounded?”)'],
  ['Plan the user approved', 'count attempts · a window of 15 min · answer 429'],
  ['Failing', 'test `locks after 5 attempts`: Expected values to be strictly equal: 200 !== 429'],
  ['Left', '- Attempt limiter\n'],
  ['Left', '- Logout\n'],
  ['Left', '- Docs\n'],
  ['Tried, failed', 'a file store with fs.watch (s5: loses writes)'],
  ['Last said', 'I have looked at the limiter in depth.'],
  ['Last said', "Not done: the limiter has no time window; next is 'allowed(attempts, now)' · logout · docs"],
  ['Last said', 's5: The file store loses writes'],
  ['Done', '3 commits, the last “limiter wip”'],
  ['Done', 'Session store · Login form and handler'],
  ['State', 'all committed but 2 files'],
  ['Read first', '`login.test.js` · `limit.js`'],
  ['Changed', '`limit.js` +9 −0 (uncommitted) · `login.test.js` +1 −0 (untracked) · `session.js` +5 −0 ·'],
  ['Since then', 's10, a question only: “quick: is prettier configured?” No.'],
];

/** What must not be in it: consents and notifications as requests, what another conversation did, raw output. */
const mustNot: readonly (string | RegExp)[] = [
  /\*\*(?:Goal|Asked since):\*\*[^\n]*(?:prettier|go on|continue|yes|next\b)/,
  'task-notification',
  'task-id',
  /skip/i,
  'not ok',
  'failureType',
  /task \w+\/\d/,
  /- Session store\n/,
  'before all of it',
  'ended: other',
];

describe('the brief after ten sessions', () => {
  it('says what the next agent must know, where it belongs, and nothing that misleads it', () => {
    const repository = playTenSessions();
    const brief = runOrch(repository, ['brief', '-e', 'login']).stdout;
    const sections = new Map(
      brief
        .split(/^(?=\*\*[^*]+:\*\*)/m)
        .map((part) => [/^\*\*([^*]+):\*\*/.exec(part)?.[1] ?? '', part] as const),
    );
    for (const [label, text] of must)
      expect(sections.get(label) ?? `(no ${label} in:\n${brief})`).toMatch(
        typeof text === 'string' ? new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : text,
      );
    for (const text of mustNot) expect(brief).not.toMatch(text);
    expect(estimateTokens(brief)).toBeLessThanOrEqual(1_500);
    // Orch's own machinery comes last.
    expect([...sections.keys()].at(-1)).toBe('Code');
    expect(
      repository.git('show', 'refs/orchestration/epics/login:.orchestration/checkpoints/login/brief.md'),
    ).toBe(brief.trimEnd());

    // The next one is told all of it, and what it is for.
    const env = { ORCH_EPIC: 'login' };
    const next = makeAgent(repository, '0000000a-1111-4222-8333-444444444444', env);
    const told = next.call('SessionStart', { source: 'startup' }).hookSpecificOutput.additionalContext;
    expect(told).toContain('> **Goal:** Add login with server sessions');
    expect(told).toMatch(/not a request itself\.\n\norch records this session\. [^\n]*$/);
    expect(told.length).toBeLessThan(10_000);
    next.call('UserPromptSubmit', { prompt: 'finish the limiter now' });

    // After a compaction in the middle of it, it is told to go on, not to wait.
    const compacted = next.call('SessionStart', { source: 'compact' }).hookSpecificOutput.additionalContext;
    expect(compacted).toContain('> **Goal:** Add login with server sessions');
    expect(compacted).toContain('finish the limiter now');
    expect(compacted).toMatch(
      /continue now\. Do not start over, and do not wait for instructions\.\n\norch records this session\. [^\n]*$/,
    );
    next.call('Stop', { last_assistant_message: 'The limiter has a window.' });
    next.call('SessionEnd', { reason: 'other' });

    // A conversation that is continued is told only what it does not know.
    const again = makeAgent(repository, '0000000a-1111-4222-8333-444444444444', env);
    expect(again.call('SessionStart', { source: 'resume' }).hookSpecificOutput).toBeUndefined();
    again.call('SessionEnd', { reason: 'other' });
    runOrch(repository, [
      'record',
      'decision',
      'lock for an hour',
      '--rationale',
      'support asked',
      '-e',
      'login',
    ]);
    const news = makeAgent(repository, '0000000a-1111-4222-8333-444444444444', env);
    const said = news.call('SessionStart', { source: 'resume' }).hookSpecificOutput.additionalContext;
    expect(said).toContain('**Decided:** lock for an hour');
    expect(said).not.toContain('Goal');
    expect(said).toMatch(/outside your conversation; you know the rest\.\n$/);
  });
});
