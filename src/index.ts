/* The library: everything a program can do with orch, bound to the current folder unless told otherwise. */
export type { BriefInput } from './checkpoint/brief/brief.ts';
export type { Brief } from './checkpoint/brief/fit.ts';
export type { CheckpointDocument } from './checkpoint/document.ts';
export type { Checkpoint, Listing } from './checkpoint/list.ts';
export {
  defaultPolicy,
  type Policy,
  type Policy as CheckpointPolicy,
  type View,
} from './checkpoint/policy.ts';
export type { Publication } from './checkpoint/publication.ts';
export type { SyncPreview } from './checkpoint/sync-preview.ts';
export type { SyncResult } from './checkpoint/sync-tally.ts';
export type { DamagedCheckpoint, Verification } from './checkpoint/verify.ts';
export type { Budget } from './cost/budget.ts';
export type { Usage } from './cost/ledger.ts';
export { type ErrorCode, exitStatuses, OrchError } from './errors.ts';
export { formatBaselineResult } from './integration/baseline-view.ts';
export { type BaselineResult, baselinePassed, type Gate, type GateOutcome } from './integration/gate.ts';
export {
  batchStatus,
  type CompleteBatchOptions,
  type CompletedBatch,
  completeBatch,
  nextBatch,
  type SpecOptions,
  type StartedBatch,
  startBatch,
} from './library/batches.ts';
export type { LoadedCheckpoint as StoredCheckpoint } from './library/checkpoints.ts';
export * from './library/checkpoints.ts';
export {
  type AgentContext,
  type BudgetNotice,
  type ContextInput,
  type CostUpdate,
  createSessionContext,
  generateEpicId,
  generateSessionId,
  getBudgetStatus,
  isBudgetExceeded,
  type OrchestrationContext,
  updateSessionCost,
  type WithBudget,
} from './library/context.ts';
export {
  decide,
  formatCheckpointSummary,
  generateResumeBrief,
  hasResumableContext,
  shouldCheckpoint,
  type Verdict,
} from './library/deciding.ts';
export { type ProgramEffect, type RunEffectsOptions, runEffects } from './library/effects.ts';
export {
  archiveEpic,
  deleteEpic,
  type EpicInfo,
  type EpicList,
  listEpics,
  renameEpic,
  restoreEpic,
} from './library/epics.ts';
export * from './library/gates.ts';
export { type RunPlanOptions, runPlan } from './library/plans.ts';
export {
  type BriefOptions,
  type CostReport,
  type EpicBrief,
  readBrief,
  readCost,
  readCostReport,
  setBudget,
} from './library/reading.ts';
export * from './library/recording.ts';
export {
  type DiffInput,
  type DiffResult,
  diffCheckpoints,
  type RestoreInput,
  type RestoreResult,
  restoreCheckpoint,
  undoRestore,
} from './library/restore.ts';
export {
  checkCheckpointTrigger,
  completeSession,
  type EndedSession,
  listSessions,
  pauseSession,
  readStatus,
  resumeSession,
  type SessionConfig,
  type SessionName,
  type StartedSession,
  startSession,
} from './library/sessions.ts';
export { acceptBudget, previewSync, type Synced, type SyncOptions, sync } from './library/sync.ts';
export {
  type CleanedUp,
  type CleanUpOptions,
  cleanUp,
  type Diagnosed,
  runDoctor,
} from './library/upkeep.ts';
export type { Where } from './library/where.ts';
export type { Orch, OrchOptions } from './orch.ts';
export { openOrch } from './orch.ts';
export type { BatchStatus, NextBatch } from './plan/batch.ts';
export type { RunInfo } from './plan/describe.ts';
export type { RunEvent } from './plan/progress.ts';
export type { Effect, Plan, Task } from './plan/types.ts';
export type { SessionInfo as Session } from './session/fate.ts';
export type { SessionSettings } from './session/settings.ts';
export type { EpicStatus } from './session/status.ts';
export type { Event, Fact } from './state/facts.ts';
export type { State } from './state/lists.ts';
export { transition } from './state/transition.ts';
export type { CheckpointId, EpicId, GateColour, Oid, SessionId, Status, Trigger, WriterId } from './types.ts';
