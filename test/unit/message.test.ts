import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMessage, type MessageContent, parseMessage } from '../../src/checkpoint/document/message.ts';
import { parseCheckpointId, parseEpicId, parseOid, parseSessionId } from '../../src/ids.ts';

const content: MessageContent = {
  id: parseCheckpointId('ckpt-00000058-k3f9qz'),
  epicId: parseEpicId('feat-login'),
  sessionId: parseSessionId('sess-7hq2m4'),
  sessionNumber: 7,
  trigger: 'interval',
  reason: null,
  summary: 'Login form done; e2e redirect still fails',
  cost: 4_100_000,
  budget: 20_000_000,
  gates: 'red',
  head: parseOid('a'.repeat(40)),
  notSaved: null,
  snapshot: parseOid('b'.repeat(40)),
  agent: 'claude-code 3f0c3a1e',
};

describe('a commit message', () => {
  it('looks like this', () => {
    expect(
      formatMessage(content, 'Session 7 · 6 files +212 −31'),
    ).toBe(`ckpt 58: Login form done; e2e redirect still fails

Session 7 · 6 files +212 −31

Orch-Checkpoint: ckpt-00000058-k3f9qz
Orch-Epic: feat-login
Orch-Session: sess-7hq2m4 7
Orch-Trigger: interval
Orch-Cost: 4.100000
Orch-Budget: 20.000000
Orch-Gates: red
Orch-Head: ${'a'.repeat(40)}
Orch-Snapshot: ${'b'.repeat(40)}
Orch-Agent: claude-code 3f0c3a1e
`);
    expect(parseMessage(formatMessage(content, ''))).toEqual(content);
  });

  it('I9: no reason, summary or agent can forge a trailer or hide one, as git itself reads them', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        'Orch-Cost: 999.000000',
        'Signed-off-by: x <x@y>',
        '---',
        '',
        '.',
        '..',
        ' ',
        '\t',
        '# x',
        'Orch-Reason: x',
        '>8',
      ),
    );
    const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, text, (reason, summary, agent) => {
        const message = formatMessage({ ...content, reason, summary, agent }, 'Session 7');
        const parsed = parseMessage(message);
        expect(parsed).toMatchObject({
          ...content,
          reason: parsed?.reason,
          summary: parsed?.summary,
          agent: parsed?.agent,
        });
        const trailers = execFileSync('git', ['interpret-trailers', '--parse'], {
          input: message,
          encoding: 'utf8',
        });
        const names = trailers.split('\n').flatMap((found) => /^([\w-]+):/.exec(found)?.[1] ?? []);
        const once = [
          'Checkpoint',
          'Epic',
          'Session',
          'Trigger',
          'Cost',
          'Budget',
          'Gates',
          'Head',
          'Snapshot',
        ];
        expect(names.filter((name) => !['Orch-Agent', 'Orch-Reason'].includes(name))).toEqual(
          once.map((name) => `Orch-${name}`),
        );
        expect(names.filter((name) => name === 'Orch-Reason')).toHaveLength(1);
      }),
      { numRuns: 150 },
    );
  });

  it('gives back a reason of many lines', () => {
    for (const reason of [
      'one',
      'one\ntwo',
      'one\n\ntwo\n.\n..\n  indented\nOrch-Cost: 1.000000\n---\nend',
    ]) {
      expect(parseMessage(formatMessage({ ...content, reason }, ''))?.reason).toBe(reason);
    }
  });

  it.each([
    '',
    'fix: a bug\n',
    'ckpt 3: x\n\nOrch-Checkpoint: nonsense\n',
    'Merge branch x\n\nSigned-off-by: A <a@b>\n',
  ])("is somebody else's where it reads %j", (message) => {
    expect(parseMessage(message)).toBeNull();
  });
});
