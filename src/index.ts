/* The library: everything a program can do with orch, in the current folder unless told otherwise. */

// Opening a repository, and the types and errors that every call shares.

export { configFile } from './config/load.ts';
export { type ErrorCode, exitStatuses, OrchError } from './errors.ts';
export { type EngineChoice, engineChoices } from './git/open-engine.ts';
export { type Claim, type Orch, type OrchOptions, openOrch, reportLogPath } from './orch.ts';
export type { CheckpointId, EpicId, GateColour, Oid, SessionId, Status, Trigger, WriterId } from './types.ts';
export type { Where } from './where.ts';

// Sessions: start, record, end, and read what is known.

export type { SessionSettings } from './journal/session-settings.ts';
export type { PlanStep } from './orchestration-file/resumption.ts';
export type { SessionCondition, SessionInfo as Session } from './record/sessions.ts';
export type { EpicView } from './record/view.ts';
export { rememberEpic } from './record/which/last-used.ts';
export { isFromInside } from './record/which/origin.ts';
export type { EpicChoice, UnreadableEpic } from './record/which/which-epic.ts';
export {
  type Destination,
  findEpic,
  findEpicOfRun,
  resolveDestination,
} from './record/which/which-session.ts';
export {
  createCheckpoint,
  type DetailedCheckpoint,
  deleteEpicCheckpoints,
  findLostCode,
  hasCheckpoints,
  type ListOptions,
  type LoadedCheckpoint,
  type LoadedCheckpoint as StoredCheckpoint,
  listCheckpoints,
  listEpicOrBegun,
  listLeftOut,
  listRunCheckpoints,
  loadCheckpoint,
  loadLatestCheckpoint,
  readCheckpoint,
  readListing,
  refuseWithoutCode,
  type SaveCheckpointInput,
  saveCheckpoint,
  verifyCheckpoints,
} from './session/api/checkpoint-api.ts';
export {
  type CostReport,
  type CostStatus,
  readCost,
  readCostReport,
  setBudget,
  setBudgetIn,
} from './session/api/cost-api.ts';
export { type EndedHere, endRunning } from './session/api/end-running.ts';
export {
  type EpicLog,
  type LoggedCheckpoint,
  type LoggedSession,
  type LogOptions,
  readLog,
} from './session/api/epic-log.ts';
export { type ImportedCosts, importCosts } from './session/api/import-costs.ts';
export {
  decide,
  formatCheckpointSummary,
  generateResumeBrief,
  hasResumableContext,
  shouldCheckpoint,
  type Verdict,
} from './session/api/policy-api.ts';
export {
  type AgentContext,
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
} from './session/api/program-context.ts';
export { type BriefOptions, type EpicBrief, readBrief } from './session/api/read-brief.ts';
export {
  answerQuestion,
  type Recorded,
  recordBlocker,
  recordCost,
  recordDecision,
  recordFacts,
  recordFile,
  recordIssue,
  recordNote,
  recordQuestion,
  recordTask,
  recordTests,
  recordTried,
  resolveBlocker,
} from './session/api/record-api.ts';
export { type Entry, recordEntry } from './session/api/record-entry.ts';
export {
  checkCheckpointTrigger,
  completeSession,
  type EndedSession,
  listSessions,
  pauseSession,
  readStatus,
  resumeSession,
  type SessionConfig,
  type StartedSession,
  startSession,
} from './session/api/session-api.ts';
export {
  describeStatus,
  listAllSessions,
  readSession,
  type SessionDetails,
  type ShownSession,
} from './session/api/session-details.ts';
export type { EpicStatus } from './session/epic-status.ts';
export { readExistingEpic as readEpicView, type SessionName } from './session/find-session.ts';
export {
  logPath as sessionLogPath,
  type OutputLog,
  openOutputLog,
  readSessionLog,
} from './session/output-log.ts';
export type { BudgetNotice, RecordedEntry } from './session/recorded-entry.ts';

// Facts, and the state they add up to.

export type { Event, Fact } from './state/facts.ts';
export type { State } from './state/lists.ts';
export { transition } from './state/transition.ts';

// Supervising an agent.

export { readPrompt } from './supervise/conversation.ts';
export type { StopReason } from './supervise/decide.ts';
export { describeFailure, exitStatusOf } from './supervise/end-session.ts';
export type { CodeChange, CodeOffer, NamedCode } from './supervise/starting-code.ts';
export {
  type SuperviseConfig,
  type SupervisedSession,
  type SuperviseEvent,
  superviseSession,
} from './supervise/supervise-session.ts';
export type { StopResult } from './system/process/guarded-command.ts';
export { formatProcesses, type NamedProcess } from './system/process/process-table.ts';
export { catchSignals, type SignalWatch } from './system/process/signals.ts';

// Checkpoints, their policy and their briefs.

export type { Brief } from './checkpoint/brief/fit-brief.ts';
export type { BriefInput } from './checkpoint/brief/write-brief.ts';
export type { CheckpointDocument } from './checkpoint/document/document.ts';
export type { Checkpoint, Listing } from './checkpoint/list.ts';
export type { RaisedBudget } from './checkpoint/local-budget.ts';
export {
  defaultPolicy,
  type Policy,
  type Policy as CheckpointPolicy,
  type View,
  type Warning,
} from './checkpoint/policy.ts';
export type { DamagedCheckpoint, Verification } from './checkpoint/verify.ts';

// Money.

export type { Budget } from './cost/budget.ts';
export type { ContextWindow } from './cost/context-window.ts';
export { byHand, type Usage } from './cost/ledger.ts';

// Gates.

export { approveGates, type BaselineOptions, runBaseline, runGatesIn } from './gates/baseline-api.ts';
export {
  type BaselineResult,
  baselinePassed,
  formatBaselineResult,
  type Gate,
  type GateOutcome,
} from './gates/gate.ts';
export type { GateProgress } from './gates/run-gates.ts';

// The code of a checkpoint: diff and restore.

export {
  type DiffInput,
  type DiffResult,
  type DiffSides,
  diffCheckpoints,
  withDiffSides,
} from './restore/diff-checkpoints.ts';
export {
  previewRestore,
  type RestoreInput,
  type RestorePreview,
  type RestoreResult,
  restoreCheckpoint,
  type UndoOptions,
  undoRestore,
  type WrittenOut,
  writeCheckpointTo,
} from './restore/restore-checkpoint.ts';

// Which checkpoint broke it.

export type { BisectResult, BisectTry, Evidence } from './bisect/answer.ts';
export { type BisectInput, bisect } from './bisect/bisect-api.ts';
export type { BisectEvent } from './bisect/search.ts';

// Epics: manage them, see them all, share them.

export {
  archiveEpic,
  deleteEpic,
  type EpicInfo,
  type EpicList,
  findRestorable,
  listEpics,
  prepareRename,
  readHoldings,
  renameEpic,
  restoreEpic,
} from './epic/epic-api.ts';
export type { EpicHoldings } from './epic/epics.ts';
export { askUser, waitForAnswer } from './session/api/ask-api.ts';
export { formatResumeCommand, suggestNext } from './status/next.ts';
export {
  type EpicOverview,
  type Overview,
  type OverviewOptions,
  readOverview,
  type SessionState,
} from './status/overview.ts';
export type { Publication, SyncPreview } from './sync/publication.ts';
export {
  acceptBudget,
  canAcceptBudget,
  previewSync,
  type Synced,
  type SyncOptions,
  sync,
} from './sync/sync-api.ts';
export type { SyncResult } from './sync/tally.ts';
export { mostUnpushed } from './sync/unpushed.ts';

// Plans and specs.

export { checkConvoyPlan, defaultWorkers, runConvoy, selectByLabel } from './convoy/convoy-api.ts';
export {
  findNamed,
  findOpenConvoy,
  isPlanElsewhere,
  type KnownConvoy,
  listConvoys,
  nameForCommands,
  readConvoy,
} from './convoy/find-convoy.ts';
export { checkLanding, type Landing, landConvoy, previewLanding } from './convoy/land/land.ts';
export { addTasks, makeOwnPlan } from './convoy/own-plan.ts';
export { findReported } from './convoy/report/find-reported.ts';
export type { ConvoyReport } from './convoy/report/make-report.ts';
export {
  type ConvoyMetrics,
  measureConvoy,
  type PooledMetrics,
  type Trend,
} from './convoy/report/metrics.ts';
export {
  learningsFile,
  previewReflection,
  type Reflection,
  refuseLearnings,
  writeLearnings,
} from './convoy/report/reflect.ts';
export { formatReport, measureConvoys, reportConvoy } from './convoy/report/report-api.ts';
export { describeSeconds } from './convoy/report/report-document.ts';
export { type ConvoyReview, type ReviewOptions, reviewConvoy } from './convoy/review/review-convoy.ts';
export { type PlannedRoute, type PlannedRoutes, previewRoutes } from './convoy/route/route-api.ts';
export {
  type ConvoyInfo,
  type ConvoySummary,
  type ConvoyTask,
  showConvoy,
  summarizeConvoy,
} from './convoy/show-convoy.ts';
export { makeSpecPlan } from './convoy/spec-plan.ts';
export { attachTask } from './convoy/steer/attach.ts';
export { type Claimed, claimTask, finishTask } from './convoy/steer/claim-api.ts';
export {
  cancelTasks,
  pauseConvoy,
  pauseTask,
  readTask,
  resumeTask,
  resumeUnpaid,
  retryTask,
  sayToTask,
} from './convoy/steer/steer-api.ts';
export { readTaskCosts, type TaskCost } from './convoy/task-costs.ts';
export { readTaskWork } from './convoy/task-work.ts';
export { listWaiting, type WaitingItem } from './convoy/waiting-list.ts';
export { type Explanation, explainTask } from './convoy/why.ts';
export { type TaskState, taskStates } from './convoy/work/task-transition.ts';
export { type CleanedWorktree, cleanConvoy, listLeftWorktrees } from './convoy/worktree/clean-convoy.ts';
export { describeAction } from './plan/action-text.ts';
export { defaultWorkerAttempts, isConvoy } from './plan/convoy-plan.ts';
export { type ProgramEffect, type RunEffectsOptions, runEffects } from './plan/effects/effects-api.ts';
export { loadConvoyPlan, loadPlan } from './plan/parse-plan.ts';
export type { Effect, Plan, Task } from './plan/plan.ts';
export { listPlanRuns } from './plan/run/known-runs.ts';
export { previewNewRun, previewResumedRun, previewUndo, type RunPreview } from './plan/run/preview.ts';
export type { RunEvent, RunInfo, RunStart, RunSummary } from './plan/run/progress.ts';
export {
  type RunFileEvent,
  type RunFileOutcome,
  type RunFileRequest,
  type RunPlanOptions,
  runPlan,
  runPlanFile,
} from './plan/run/run-plan.ts';
export { setValues } from './plan/task/task-values.ts';
export type { BatchStatus, NextBatch, TaskFromGit } from './spec/describe-batch.ts';
export {
  batchStatus,
  type CompleteBatchOptions,
  type CompletedBatch,
  completeBatch,
  completeBatchIn,
  type FoundSpec,
  findSpec,
  nextBatch,
  pathToTop,
  readFoundIssues,
  recoverBatches,
  type SpecOptions,
  type StartedBatch,
  startBatch,
  startBatchIn,
} from './spec/spec-api.ts';

// Connecting agents: init, hooks, the status line.

export { type HookCall, parseHookCall } from './agents/calls/hook-call.ts';
export { parseStatusCall, type StatusCall } from './agents/calls/status-call.ts';
export { runTurnGates } from './hooks/gates-after-turn.ts';
export { type HookPlace, handleHook, keepHookProblem, startTurnGates } from './hooks/hook-api.ts';
export { readStatusLine, reportStatusLine, runOwnLine, type StatusLine } from './hooks/status-line.ts';
export { applyInit, type InitOptions, type InitPreview, previewInit } from './init/init-api.ts';

// Upkeep.

export { type CleanedUp, type CleanUpOptions, cleanUp } from './upkeep/cleanup/clean-up.ts';
export { type Diagnosed, type DoctorOptions, runDoctor } from './upkeep/doctor/run-doctor.ts';

// Plans from the issues of other trackers.

export {
  type ImportedPlan,
  type ImportRequest,
  importPlan,
  incompleteImport,
} from './import/import-api.ts';
export type { ImportReport } from './import/import-report.ts';
export type { Source as ImportSource } from './import/imported-issue.ts';
export type { ImportInput } from './import/read-source.ts';

// Who is told what happens while the user is away.

export {
  dropNotice,
  listNotices,
  type NoticeInfo,
  type Notices,
  type Replayed,
  replayNotices,
  type TestedReceiver,
  testReceiver,
} from './notify/notify-api.ts';

// What looks after agents at work.

export {
  configureWitness,
  readWitness,
  setWitness,
  type WitnessedAgent,
  type WitnessStatus,
} from './witness/witness-api.ts';
