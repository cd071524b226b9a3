import { describe, expect, it } from 'vitest';
import { openOutput } from '../../src/cli/output.ts';
import { type EndShown, showEnd } from '../../src/cli/session/session-lines.ts';
import { parseEpicId } from '../../src/ids.ts';

const out = openOutput({}, { color: false, quiet: false });
const nothing = { left: [], strays: [], isCertain: false };

function show(stopped: EndShown['stopped'], why: EndShown['why']): string {
  const ended: EndShown = {
    why,
    stopped,
    epicId: parseEpicId('a'),
    number: 1,
    checkpoint: null,
    document: null,
    budget: { spentUsd: 6, limitUsd: 5, percent: 120, remainingUsd: 0, level: 'exceeded' },
    takenOver: null,
  };
  return showEnd(out, ended, 'claude').join('\n');
}

const budget: EndShown['why'] = { kind: 'budget', saved: 2, stop: { kind: 'budget', spent: 6, limit: 5 } };

describe('the end of a session', () => {
  it('says that all is stopped only where that is certain', () => {
    const unknown = show({ ...nothing, by: 'SIGINT' }, budget);
    expect(unknown).toContain('Saved checkpoint 2, then stopped claude (SIGINT). The code');
    const certain = show({ ...nothing, by: 'SIGINT', isCertain: true }, budget);
    expect(certain).toContain('stopped claude and everything it started (SIGINT). The code');
  });

  it.each<EndShown['why']>([
    budget,
    { kind: 'signal', signal: 'SIGTERM' },
    { kind: 'exit', exit: { status: 0, signal: null } },
    { kind: 'supervision_failed', problem: 'too many files are open' },
  ])('names what still runs, and what may: $kind', (why) => {
    const left = [{ pid: 12, command: 'sleep 600' }];
    const strays = [{ pid: 13, command: '' }];
    const said = show({ by: 'SIGKILL', left, strays, isCertain: false }, why);
    expect(said).not.toContain('everything it started');
    expect(said).toContain('! Still running: pid 12 (sleep 600). Look at it with: ps -fp 12');
    expect(said).toContain('! Still running, and possibly started by it: pid 13. Look');
  });
});
