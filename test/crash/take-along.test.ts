import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseHookCall } from '../../src/agents/calls/hook-call.ts';
import { spentIn } from '../../src/cost/money.ts';
import { handleAgent } from '../../src/hooks/handle-hook.ts';
import { verifyCheckpoints } from '../../src/index.ts';
import type { OrchOptions } from '../../src/orch.ts';
import { readAllViews } from '../../src/record/which/which-epic.ts';
import { realDisk } from '../../src/system/disk.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { makeAgent } from '../support/hooked-agent.ts';
import { makeForgetfulDisk } from '../support/power-loss-disk.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { bury } from '../support/sessions.ts';
import { makeFastClock, withOrch } from '../support/store.ts';

const env = { ORCH_WRITER: 'w-test' };

it.each([
  ['an operation', { torn: false, powerLoss: false }],
  ['a torn write', { torn: true, powerLoss: false }],
  ['a power loss', { torn: false, powerLoss: true }],
])(
  'I3: a hook that moves an epic to the branch of its work may die at any point (%s): it is there once',
  async (_, { torn, powerLoss }) => {
    const repository = makeRepositoryWithCommit();
    const { call, spend, transcript } = makeAgent(repository, 'agent-1', env);
    call('SessionStart', { source: 'startup' });
    call('UserPromptSubmit', { prompt: 'Make login redirect' });
    spend(100_000);
    call('Stop', { last_assistant_message: 'It redirects.' });
    repository.git('switch', '--quiet', '--create', 'feat/login');
    spend(100_000);
    const cwd = repository.folder;
    const asIs = join(repository.home, 'as-is');
    cpSync(cwd, asIs, { recursive: true });
    const input = {
      session_id: 'agent-1',
      transcript_path: transcript,
      cwd,
      hook_event_name: 'UserPromptSubmit',
      prompt: 'Now the tests',
    };
    const hook = (options: Partial<OrchOptions>) =>
      withOrch({ cwd, ...options }, (orch) => {
        const parsed = parseHookCall('claude', JSON.stringify(input)) ?? expect.fail('a call');
        return handleAgent(orch, parsed, { session: undefined, epic: undefined, agentPid: process.pid });
      });
    let moved = 0;
    for (const at of crashPoints(torn ? 9 : 50)) {
      rmSync(cwd, { recursive: true });
      cpSync(asIs, cwd, { recursive: true });
      const forgetful = makeForgetfulDisk();
      const crashing = makeCrashingDisk({ at, torn }, powerLoss ? forgetful.disk : realDisk);
      try {
        await hook({ disk: crashing.disk, wrapEngine: crashing.wrapEngine });
      } catch (error) {
        if (!crashing.hasDied()) throw error;
      }
      if (powerLoss) forgetful.losePower();
      bury(cwd);
      await hook({ clock: makeFastClock() });
      await withOrch({ cwd }, async (orch) => {
        const { views, unreadable } = await readAllViews(orch);
        expect(unreadable).toEqual([]);
        const spent = Object.fromEntries(views.map(({ epic, state }) => [epic, spentIn(state.ledger)]));
        const isMoved = spent['make-login-redirect'] === undefined;
        if (isMoved) moved += 1;
        // Where the hook died first, the work stays under its old name, and what was used is there or here, once.
        expect(
          Object.values(spent).reduce((sum, micros) => sum + micros, 0),
          `at ${at}`,
        ).toBe(3_000_000);
        expect(Object.keys(spent)).toContain('feat-login');
        expect((await verifyCheckpoints(null, orch)).damaged).toEqual([]);
      });
      expect(repository.git('fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe('');
      if (!crashing.hasDied()) break;
    }
    expect(moved).toBeGreaterThan(0);
  },
);
