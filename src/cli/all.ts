import { baselineSpec } from './baseline.ts';
import { batchGroup } from './batch.ts';
import { briefSpec } from './brief.ts';
import { checkpointGroup } from './checkpoint.ts';
import { cleanupSpec } from './cleanup.ts';
import { diffSpec, restoreSpec } from './code-spec.ts';
import { makeCompletion } from './completion.ts';
import { costGroup } from './cost.ts';
import { demoSpec } from './demo.ts';
import { doctorSpec } from './doctor.ts';
import { epicGroup } from './epic.ts';
import { hookSpec, statuslineSpec } from './hook-spec.ts';
import { initSpec } from './init.ts';
import { logSpec } from './log.ts';
import { mcpSpec } from './mcp.ts';
import { recordGroup } from './record.ts';
import { runCommands } from './run.ts';
import { runSpec } from './run-plan.ts';
import { sessionGroup } from './session.ts';
import { shortSpecs } from './short.ts';
import type { Spec } from './spec.ts';
import { statusSpec } from './status.ts';
import { syncSpec } from './sync.ts';

/** Every command there is. */
const specs: readonly Spec[] = [
  initSpec,
  statusSpec,
  ...shortSpecs,
  logSpec,
  diffSpec,
  restoreSpec,
  briefSpec,
  costGroup,
  syncSpec,
  recordGroup,
  sessionGroup,
  epicGroup,
  checkpointGroup,
  baselineSpec,
  runSpec,
  hookSpec,
  statuslineSpec,
  mcpSpec,
  batchGroup,
  doctorSpec,
  cleanupSpec,
  demoSpec,
  makeCompletion(() => specs),
];

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv.length === 0 ? ['--help'] : argv, specs);
}
