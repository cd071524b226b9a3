import { describe, expect, it } from 'vitest';
import { loadAll } from '../../src/cli/all-commands.ts';
import { runWithCommander } from '../../src/cli/commander.ts';
import type { Call } from '../../src/cli/spec.ts';

/** What a command is called with where commander reads the line. */
async function read(line: string): Promise<Call> {
  const calls: Call[] = [];
  await runWithCommander(line.split(' '), await loadAll(), async (_, __, call) => {
    calls.push(call);
    return 0;
  });
  const [call] = calls;
  if (call === undefined) throw new Error(`${line} called nothing`);
  return call;
}

describe('a call that is not plain', () => {
  it('says no where it was told no, and nothing where it was not', async () => {
    expect((await read('start -ex --no-baseline')).options).toEqual({ epic: 'x', 'no-baseline': true });
    expect((await read('start -ex')).options).toEqual({ epic: 'x' });
    expect((await read('session start -ex --no-baseline --background')).options).toMatchObject({
      'no-baseline': true,
      background: true,
    });
  });

  it('leaves what is behind -- to the command', async () => {
    const call = await read('start -ex -- claude -p --no-baseline -- x');
    expect(call).toMatchObject({
      rest: ['claude', '-p', '--no-baseline', '--', 'x'],
      options: { epic: 'x' },
    });
    await expect(read('start -ex claude')).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Try: orch start -- claude',
    });
  });
});
