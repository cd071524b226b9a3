import { describe, expect, it } from 'vitest';
import { openOutput } from '../../src/cli/output.ts';
import { showEnd } from '../../src/cli/start-view.ts';
import type { End } from '../../src/session/supervisor.ts';
import { emptyState } from '../../src/state/lists.ts';

const out = openOutput({}, { color: false, quiet: false });
const around = { epic: 'a', number: 1, name: 'claude', latest: 2 } as Parameters<typeof showEnd>[2];
const nothing = { left: [], strays: [], isCertain: false };

function show(stopped: End['stopped'], why: End['why']): string {
  const outcome = { state: emptyState } as unknown as End['outcome']; // the only part that is shown
  return showEnd(out, { why, stopped, exit: null, outcome }, around).join('\n');
}

const budget: End['why'] = { kind: 'budget', saved: 2, stop: { kind: 'budget', spent: 6, limit: 5 } };

describe('the end of a session', () => {
  it('says that all is stopped only where that is certain', () => {
    const unknown = show({ ...nothing, by: 'SIGINT' }, budget);
    expect(unknown).toContain('Checkpoint 2 was saved first; claude stopped (SIGINT); the code');
    const certain = show({ ...nothing, by: 'SIGINT', isCertain: true }, budget);
    expect(certain).toContain('claude stopped (SIGINT) with all it started; the code');
  });

  it.each<End['why']>([
    budget,
    { kind: 'signal', signal: 'SIGTERM' },
    { kind: 'exit', exit: { status: 0, signal: null } },
    { kind: 'blind', problem: 'too many files are open' },
  ])('names what still runs, and what may: $kind', (why) => {
    const left = [{ pid: 12, command: 'sleep 600' }];
    const strays = [{ pid: 13, command: '' }];
    const said = show({ by: 'SIGKILL', left, strays, isCertain: false }, why);
    expect(said).not.toContain('with all it started');
    expect(said).toContain('! Still running: pid 12 (sleep 600). See what it is with: ps -fp 12');
    expect(said).toContain('! May come from it, and is still running: pid 13. See');
  });
});
