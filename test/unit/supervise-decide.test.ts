import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../src/checkpoint/policy.ts';
import {
  decideFinalReason,
  decideSave,
  decideStep,
  type Findings,
  type Situation,
} from '../../src/supervise/decide.ts';

const findings: Findings = { isTakenOver: false, overBudget: null, saved: 3, failure: null };
const stop = { kind: 'budget', spent: 6, limit: 5 } as const;
const overBudget = { ...findings, overBudget: stop };
const exit = { status: 1, signal: null, at: 900 } as const;
const restart = { at: 5_000, argv: ['claude', '--resume', 'x'] };
const request = { want: 'pause', reason: null } as const;
const verdict = { kind: 'witness', why: 'looping' } as const;
const ctrlC = { signal: 'SIGINT', at: 500 } as const;

const calm: Situation = {
  findings,
  caught: null,
  startedAt: 100,
  exit: null,
  restart: null,
  request: null,
  verdict: null,
  waitingFor: null,
  now: 1_000,
  hasTerminal: false,
  stopGrace: 300,
};
const decide = (changed: Partial<Situation>) => decideStep({ ...calm, ...changed });
const failing = (lasts: number) => ({ ...findings, failure: { problem: 'no space', lasts } });

describe('what a supervisor does after a look', () => {
  it('continues while nothing has happened, or a look has only just failed', () => {
    expect(decide({})).toEqual({ kind: 'continue' });
    expect(decide({ findings: failing(1_999) })).toEqual({ kind: 'continue' });
    expect(decide({ waitingFor: restart })).toEqual({ kind: 'continue' });
  });

  it.each<[what: string, changed: Partial<Situation>, why: object]>([
    [
      'the budget, before everything but a take-over',
      { findings: overBudget, caught: ctrlC, exit, request },
      { kind: 'budget', stop, saved: 3 },
    ],
    ['a take-over', { findings: { ...overBudget, isTakenOver: true } }, { kind: 'taken_over' }],
    [
      'looks that fail for two seconds',
      { findings: failing(2_000) },
      { kind: 'supervision_failed', problem: 'no space' },
    ],
    ['a signal, before an exit', { caught: ctrlC, exit }, { kind: 'signal', signal: 'SIGINT' }],
    ['the end of the command', { exit, request }, { kind: 'exit', exit: { status: 1, signal: null } }],
    ['a request, before a verdict', { request, verdict }, { kind: 'request', request }],
    ['a verdict of the witness', { verdict }, verdict],
    [
      'the end of the command, before a verdict',
      { exit, verdict },
      { kind: 'exit', exit: { status: 1, signal: null } },
    ],
  ])('stops for %s', (_, changed, why) => {
    expect(decide(changed)).toEqual({ kind: 'stop', why });
  });

  it('waits at a limit, and starts the command again when it is over', () => {
    expect(decide({ exit, restart })).toEqual({ kind: 'wait', restart });
    expect(decide({ exit, restart, caught: ctrlC })).toMatchObject({ kind: 'stop' });
    expect(decide({ waitingFor: restart, now: 5_000 })).toEqual({ kind: 'restart', argv: restart.argv });
    expect(decide({ waitingFor: restart, now: 5_000, request })).toMatchObject({ kind: 'stop' });
  });

  it('leaves Ctrl+C at a terminal to the command, unless that ends of it or has not started', () => {
    const atTerminal = { caught: ctrlC, hasTerminal: true };
    const signalled = { kind: 'stop', why: { kind: 'signal', signal: 'SIGINT' } };
    expect(decide(atTerminal)).toEqual({ kind: 'continue' });
    expect(decide({ ...atTerminal, startedAt: null })).toEqual(signalled);
    expect(decide({ ...atTerminal, startedAt: 501 })).toEqual(signalled);
    expect(decide({ ...atTerminal, exit: { ...exit, at: 800 } })).toEqual(signalled);
    expect(decide({ ...atTerminal, exit })).toMatchObject({ why: { kind: 'exit' } });
    expect(decide({ ...atTerminal, exit: { ...exit, status: 130 } })).toEqual(signalled);
    expect(decide({ ...atTerminal, caught: { signal: 'SIGTERM', at: 500 } })).toMatchObject({ kind: 'stop' });
  });
});

it('a command that spends too much on its way out ended over budget, whatever it says', () => {
  const ended = { kind: 'exit', exit: { status: 0, signal: null } } as const;
  expect(decideFinalReason(ended, findings)).toBe(ended);
  expect(decideFinalReason(ended, overBudget)).toEqual({ kind: 'budget', stop, saved: 3 });
  const first = { kind: 'budget', stop, saved: 2 } as const;
  expect(decideFinalReason(first, overBudget)).toBe(first);
});

it.each<[save: ReturnType<typeof decideSave>, verdict: Partial<Verdict>, isIntervalOver: boolean]>([
  [null, {}, false],
  ['interval', {}, true],
  ['policy', { checkpoint: { trigger: 'cost', reason: null } }, true],
  ['policy', { stop }, false],
])('a look saves %s', (save, verdict, isIntervalOver) => {
  expect(decideSave({ checkpoint: null, warn: [], stop: null, ...verdict }, isIntervalOver)).toBe(save);
});
