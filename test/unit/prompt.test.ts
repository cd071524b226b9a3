import { describe, expect, it } from 'vitest';
import { findQuestion, readPrompt } from '../../src/agents/calls/prompt.ts';

const asks = 'I would add a package for argon2.\n\nThat is not allowed. Shall I use scrypt instead?';
const notification =
  '<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n<summary>Build done</summary>\n</task-notification>';

describe('what a prompt is', () => {
  it.each([
    'Add login with server sessions (no JWT, legal wants revocation), max 5 attempts per 15 min',
    'fix the tests',
    'can you add a logout button?',
    'Is the limiter right? If not, rewrite it with a sliding window.',
    '/implement the login page with sessions',
    'what does <task-notification> mean in the transcript, and why do we record it; write it down',
    '<task-notification> is shown twice, fix that',
    'ok now add the logout page too',
    'please add a logout page',
    '/usr/bin/node fails with a segfault, find out why',
  ])('something to do: %s', (text) => {
    expect(readPrompt(text, null)).toEqual({ kind: 'request', text });
  });

  it.each(['yes', 'ok', 'go on', 'Yes, please.', 'continue', 'ok thanks, go ahead', '👍', 'LGTM', ''])(
    'nothing where nothing was asked: %s',
    (text) => {
      expect(readPrompt(text, null)).toEqual({ kind: 'nothing' });
      expect(readPrompt(text, 'All is done.')).toEqual({ kind: 'nothing' });
    },
  );

  it.each([
    'yes',
    'ok',
    'no',
    '👍',
    'half up',
    'yes but in memory',
    'no, use bcrypt from the standard library',
  ])('an answer to what the agent asked: %s', (text) => {
    expect(readPrompt(text, asks)).toEqual({ kind: 'reply', text, to: 'Shall I use scrypt instead?' });
  });

  it('an answer with a condition, though no question was seen', () => {
    expect(readPrompt('yes but in memory', null)).toEqual({
      kind: 'reply',
      text: 'yes but in memory',
      to: null,
    });
  });

  it.each(['quick: is prettier configured?', 'where is the limiter?', 'what is the port?', 'why?'])(
    'a question by the way: %s',
    (text) => {
      expect(readPrompt(text, 'All is done.')).toEqual({ kind: 'question', text });
    },
  );

  it.each([
    notification,
    `${notification}\n${notification}`,
    '<system-reminder>x</system-reminder>',
    '<local-command-stdout>x</local-command-stdout>',
    '/compact keep the plan of the limiter',
    '/model opus',
    '/clear',
    '!git status',
  ])('nothing a person asked for: %s', (text) => {
    expect(readPrompt(text, asks)).toEqual({ kind: 'nothing' });
  });

  it('what stands below a notification is what the person typed', () => {
    expect(readPrompt(`${notification}\nnow add the logout page`, null)).toEqual({
      kind: 'request',
      text: 'now add the logout page',
    });
  });

  it.each([
    ['Done. All tests pass.', null],
    ['Which rounding: half up or half even? Both are easy.', 'Which rounding: half up or half even?'],
    ['Is it v1.2 or v2.0?', 'Is it v1.2 or v2.0?'],
    ['Was that right?\n\nI went on with it.', null],
  ])('the question at the end of %j is %j', (message, question) => {
    expect(findQuestion(message)).toBe(question);
  });
});
