import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type EffectsOutcome, performEffects } from '../../src/plan/effects/perform.ts';
import { noEarlierEffects, planRunEffects } from '../../src/plan/effects/plan-effects.ts';
import { record } from '../../src/record/record.ts';
import { readView } from '../../src/record/view.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { readRuns } from '../../src/state/runs.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { repositoryAt } from '../support/checkpoints.ts';
import { makeCrashingDisk } from '../support/crash-disk.ts';
import { crashPoints } from '../support/depth.ts';
import { type Behaviour, type EffectServer, startEffectServer } from '../support/effect-server.ts';
import { makeFolder, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { bury, goOn, readHistory } from '../support/sessions.ts';
import { epic, withOrch } from '../support/store.ts';

const run = 'run-aaaa';
const paths = ['/one', '/two', '/three'];
const folder = `refs/orchestration/epics/e:.orchestration/checkpoints/e/artifacts/${run}`;

/** The part of a run in which its process dies; sessions die everywhere else in tests of their own. */
type Death = { readonly phase: 'planning' | 'performing'; readonly disk: Disk };

/** One process that runs a plan, or goes on with it, as the runner does: plans, saves, does, and ends its session. */
async function runPlan(
  cwd: string,
  server: EffectServer,
  death: Death | null = null,
  content = 'as planned',
): Promise<EffectsOutcome> {
  const { disk, use } = makeChangingDisk();
  return withOrch({ cwd, engine: 'isomorphic', disk }, async (orch) => {
    const { target } = await goOn(orch);
    const known = readRuns((await readView(orch, epic)).state.runs).get(run);
    const carried = known ? { effects: known.effects, isElsewhere: false } : noEarlierEffects;
    const effects = paths.map((path) => {
      const request = { method: 'POST', url: `${server.url}${path}`, headers: {}, body: content };
      return {
        id: path,
        action: { kind: 'request' as const, request },
        check: null,
        digest: `${path} ${content}`,
      };
    });
    const { planned, facts } = planRunEffects([{ id: 'publish', effects, env: {} }], run, carried, {});
    const head = { plan: 'release', digest: 'd', from: null, startedAt: 1, session: target.session } as const;
    const begun: Fact = { kind: 'run', run, ...head, status: 'running', endedAt: null };
    if (death?.phase === 'planning') use(death.disk);
    await record(orch, target, [begun, ...facts], { trigger: 'task', reason: null });
    use(death?.phase === 'performing' ? death.disk : realDisk);
    const outcome = await performEffects(
      {
        clock: realClock,
        random: realRandom,
        cwd,
        env: {},
        signal: new AbortController().signal,
        onOutput: () => {},
        onNote: () => {},
        record: async (fact) => {
          await record(orch, target, [fact]);
        },
      },
      { env: {}, timeout: null, effectRetry: { attempts: 3, backoff: 1 } },
      planned,
    );
    await record(orch, target, [
      { ...begun, status: outcome.kind === 'done' ? 'succeeded' : 'resume_needed' },
    ]);
    use(realDisk);
    await endSession(orch, target, 'pause', null);
    return outcome;
  });
}

/** A disk that is one, then another. */
function makeChangingDisk(): { readonly disk: Disk; use(disk: Disk): void } {
  let now = realDisk;
  const disk: Disk = {
    open: (...given) => now.open(...given),
    write: (...given) => now.write(...given),
    sync: (...given) => now.sync(...given),
    close: (...given) => now.close(...given),
    rename: (...given) => now.rename(...given),
    link: (...given) => now.link(...given),
    unlink: (...given) => now.unlink(...given),
    rmdir: (...given) => now.rmdir(...given),
    mkdir: (...given) => now.mkdir(...given),
  };
  return {
    disk,
    use: (next) => {
      now = next;
    },
  };
}

/** How often each effect went from planned to acknowledged; a session that goes on says again how far they were. */
function countAcknowledgements(events: readonly Event[]): Record<string, number> {
  const counts: Record<string, number> = {};
  const before = new Map<string, string>();
  for (const { session, fact } of events) {
    if (fact.kind !== 'effect') continue;
    const place = `${session} ${fact.id}`;
    if (fact.status === 'acknowledged' && before.get(place) === 'planned')
      counts[fact.id] = (counts[fact.id] ?? 0) + 1;
    before.set(place, fact.status);
  }
  return counts;
}

/** What must hold of a run that came to its end, whatever came between. */
async function expectDoneOnce(repository: TestRepository, server: EffectServer): Promise<void> {
  expect(server.applied, 'each is applied once for its key, in order').toEqual(paths);
  const sent = server.received.map(({ path }) => paths.indexOf(path));
  expect(sent, 'never out of order').toEqual([...sent].sort());
  const history = await withOrch({ cwd: repository.folder }, (orch) => readHistory(orch));
  expect(countAcknowledgements(history.events), 'each is acknowledged once').toEqual({
    '/one': 1,
    '/two': 1,
    '/three': 1,
  });
  const contents = new Map(server.received.map(({ key, body }) => [key, body]));
  for (const { key, body } of server.received)
    expect(body, 'a key stands for one content').toBe(contents.get(key));
  const final = JSON.parse(repository.git('show', `${folder}/writeback.json`));
  expect(final.effects.map(({ id }: { id: string }) => id)).toEqual(paths);
}

/** Behaves once, at the second effect, as told. */
const onceAtTwo =
  (behaviour: Behaviour) =>
  ({ path }: { path: string }, nth: number): Behaviour =>
    path === '/two' && nth === 1 ? behaviour : { status: 200 };

describe('a run with effects', () => {
  it.each<[string, Death['phase'], Behaviour, number]>([
    ['while it plans', 'planning', { status: 200 }, 20],
    ['while it acts', 'performing', { status: 200 }, 4],
    ['while the server applies it and breaks off', 'performing', 'drops', 4],
    ['while the server breaks off and has done nothing', 'performing', 'refuses', 4],
    ['while the server half answers', 'performing', 'half-answers', 4],
  ])(
    'I2: may die %s, between file operations: each effect is done once, in order',
    async (_, phase, behaviour, stride) => {
      const template = makeRepositoryWithCommit();
      await withOrch({ cwd: template.folder, engine: 'isomorphic' }, async (orch) => {
        const { target } = await goOn(orch);
        await endSession(orch, target, 'pause', null);
      });
      const deaths: string[] = [];
      for (const at of crashPoints(stride)) {
        const cwd = join(makeFolder(), 'repository');
        cpSync(template.folder, cwd, { recursive: true });
        const repository = repositoryAt(template.home, cwd);
        const server = await startEffectServer((request, nth) => {
          // Durable before the first is tried, for whoever looks with git.
          const planned =
            server.received.length === 1 && repository.git('show', `${folder}/planned-writeback.json`);
          if (planned) expect(planned).toContain(request.key);
          return onceAtTwo(behaviour)(request, nth);
        });
        const crashing = makeCrashingDisk({ at, torn: false });
        try {
          await runPlan(cwd, server, { phase, disk: crashing.disk });
        } catch {
          expect(crashing.hasDied()).toBe(true);
        }
        if (!crashing.hasDied()) {
          await expectDoneOnce(repository, server);
          break;
        }
        deaths.push(server.applied.join(' '));
        bury(cwd);
        const before = server.received.length;
        // A plan that was changed meanwhile sends nothing again that may have been sent, under no key.
        if (at % 2 === 0) await runPlan(cwd, server, null, 'changed');
        expect(await runPlan(cwd, server)).toEqual({ kind: 'done' });
        await expectDoneOnce(repository, server);
        // Of what was sent before the death, at most the one in the air is sent again.
        const again = server.received.slice(before).map(({ key }) => key);
        const earlier = server.received.slice(0, before).map(({ key }) => key);
        expect(new Set(again.filter((key) => earlier.includes(key))).size).toBeLessThanOrEqual(1);
      }
      // It died before anything was sent, between any two effects, and after the last.
      const seen = phase === 'planning' ? [''] : ['', '/one', '/one /two', '/one /two /three'];
      expect([...new Set(deaths)]).toEqual(seen);
    },
  );
});
