import { describe, expect, it } from 'vitest';
import { isEpicId, parseEpicId } from '../../src/ids.ts';
import { nameAfterRequest } from '../../src/record/which/epic-name.ts';
import { presetRedactor } from '../../src/redact/redactor.ts';
import { makeSecrets } from '../support/secrets.ts';

const redact = async (text: string) => presetRedactor.redactAtOnce(text);
const nameOf = (prompt: string, taken: readonly string[] = []) =>
  nameAfterRequest(prompt, redact, taken.map(parseEpicId));

describe('the name of an epic after what was asked', () => {
  it.each([
    ['Make login redirect to /home', 'make-login-redirect-to-home'],
    ['Can you please add a dark mode?\n\nIt should follow the system.', 'add-a-dark-mode-it-should'],
    ['Füge ein Café hinzu', 'fuge-ein-cafe-hinzu'],
    ['Fix https://example.org/issues/12 in src/app.ts', 'fix-in-src-app-ts'],
    ['Implement internationalization throughout everything', 'implement'],
    ['/implement the login page now', 'implement-the-login-page-now'],
  ])('%j', async (prompt, name) => {
    expect(await nameOf(prompt)).toBe(name);
    expect(isEpicId(name)).toBe(true);
  });

  it.each([
    ['ok'],
    ['go on'],
    ['/compact'],
    ['/model opus'],
    ['!git status'],
    ['what does this do?'],
    ['<task-notification><task-id>1</task-id><status>completed</status></task-notification>'],
    ['添加登录页面'],
    ['please'],
    [''],
    ['x'.repeat(200)],
  ])('is none for %j', async (prompt) => {
    expect(await nameOf(prompt)).toBe(null);
  });

  it('is never a taken one, ignoring case', async () => {
    expect(await nameOf('Make login redirect', ['Make-Login-Redirect', 'make-login-redirect-2'])).toBe(
      'make-login-redirect-3',
    );
  });

  it('holds no secret', async () => {
    for (const { secret, text } of makeSecrets(1)) {
      const name = await nameOf(`Use this:\n${text}\nfor the deployment of the server`);
      const words = secret.toLowerCase().match(/[a-z0-9]{6,}/g) ?? [];
      for (const word of words) expect(name ?? '', text).not.toContain(word.slice(0, 12));
    }
  });
});
