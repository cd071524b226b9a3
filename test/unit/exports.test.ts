import { expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { exitStatuses } from '../../src/index.ts';

it('the library exports exactly this', () => {
  expect(Object.keys(library).sort()).toEqual([
    'OrchError',
    'baselinePassed',
    'checkCheckpointTrigger',
    'completeSession',
    'decide',
    'defaultPolicy',
    'deleteEpicCheckpoints',
    'exitStatuses',
    'formatBaselineResult',
    'formatCheckpointSummary',
    'generateResumeBrief',
    'hasCheckpoints',
    'hasResumableContext',
    'listCheckpoints',
    'loadCheckpoint',
    'loadLatestCheckpoint',
    'openOrch',
    'pauseSession',
    'readListing',
    'readStatus',
    'recordBlocker',
    'recordCost',
    'recordDecision',
    'recordFacts',
    'recordFile',
    'recordIssue',
    'recordNote',
    'recordTask',
    'recordTests',
    'recordTried',
    'resolveBlocker',
    'resumeSession',
    'runBaseline',
    'runEffects',
    'runPlan',
    'saveCheckpoint',
    'shouldCheckpoint',
    'startSession',
    'transition',
    'verifyCheckpoints',
  ]);
});

it('every error code has the exit status that scripts rely on', () => {
  expect([...new Set(Object.values(exitStatuses))]).toEqual([1, 2, 3, 4, 5, 6, 70, 75]);
  expect(exitStatuses).toMatchObject({
    EPIC_NOT_FOUND: 1,
    USAGE: 2,
    NOT_A_REPOSITORY: 2,
    EPIC_ID_INVALID: 2,
    GATE_FAILED: 3,
    BUDGET_EXCEEDED: 4,
    REF_CONFLICT: 5,
    SESSION_ACTIVE: 5,
    INTEGRITY: 6,
    FORMAT_UNSUPPORTED: 6,
    INTERNAL: 70,
    RESUME_NEEDED: 75,
  });
});
