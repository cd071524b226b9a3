import { isOrchError, messageOf } from '../../errors.ts';
import { defaultSettings } from '../../journal/session-settings.ts';
import { nodeVersion, thisCommand, userFolders } from '../../system/process/identity.ts';
import type { WriterId } from '../../types.ts';
import { using, type Where } from '../../where.ts';
import { checkpointChecks } from './check-checkpoints.ts';
import { environmentChecks } from './check-environment.ts';
import { identityChecks } from './check-identity.ts';
import { journalCheck } from './check-journals.ts';
import { moneyCheck } from './check-money.ts';
import { refCheck } from './check-refs.ts';
import { sessionChecks } from './check-sessions.ts';
import { storageChecks } from './check-storage.ts';
import type { Check, DoctorPorts, Finding } from './finding.ts';

/** Every check, in the order in which they are shown and repaired: a session is recovered before its journal is. */
const checks: readonly Check[] = [
  ...environmentChecks,
  ...identityChecks,
  ...sessionChecks,
  journalCheck,
  refCheck,
  ...checkpointChecks,
  moneyCheck,
  ...storageChecks,
];

export type DoctorOptions = {
  /** Repairs what can be repaired without losing anything, then checks again. */
  readonly fix?: boolean;
  /** The writer id that the environment pins, if it does: then the one in this clone is not used. */
  readonly pinnedWriter?: WriterId | undefined;
};

/** What the doctor found, as scripts read it. */
export type Diagnosed = {
  /** Does no check fail? */
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly status: 'ok' | 'warn' | 'fail';
    readonly evidence: string;
    readonly fix: string | null;
  }[];
  /** The checks that were repaired. */
  readonly fixed: readonly string[];
  /** The checks that `fix` could repair. */
  readonly fixable: readonly string[];
};

/** Checks everything and returns what is wrong; with `fix`, repairs what orch can. */
export async function runDoctor(options: DoctorOptions = {}, where: Where = {}): Promise<Diagnosed> {
  return using(where, async (orch) => {
    const pinnedWriter = options.pinnedWriter ?? null;
    const ports: DoctorPorts = {
      ...orch,
      caller: { node: nodeVersion(), command: thisCommand(), pinnedWriter, folders: userFolders() },
      // A wrong config is a finding of its own, and must not keep the other checks from running.
      readSettings: () => orch.readSettings().catch(() => defaultSettings),
    };
    const { found, fixed } = options.fix
      ? await repairAll(ports)
      : { found: await runChecks(ports), fixed: [] };
    return {
      ok: found.every(({ status }) => status !== 'fail'),
      checks: found.map(({ name, status, evidence, fix }) => ({ name, status, evidence, fix: fix ?? null })),
      fixed,
      fixable: found.flatMap(({ name, repair }) => (repair ? name : [])),
    };
  });
}

type NamedFinding = Finding & { readonly name: string };

function runChecks(ports: DoctorPorts): Promise<NamedFinding[]> {
  return Promise.all(checks.map((check) => runCheck(ports, check)));
}

/** Repairs what can be repaired without losing anything, one check after the other, and checks again. */
async function repairAll(ports: DoctorPorts) {
  const before = await runChecks(ports);
  const problems = new Map<string, string>();
  for (const check of checks) {
    // Each check runs again here, because an earlier repair may have fixed this one too.
    const { name, repair } = await runCheck(ports, check);
    await repair?.().catch((error: unknown) => problems.set(name, messageOf(error)));
  }
  const after = await runChecks(ports);
  const healthy = new Set(after.filter(({ status }) => status === 'ok').map(({ name }) => name));
  const found = after.map((finding) => {
    const problem = problems.get(finding.name);
    return problem === undefined
      ? finding
      : { ...finding, evidence: `${finding.evidence} (not repaired: ${problem})` };
  });
  const wrong = before.filter(({ status }) => status !== 'ok').map(({ name }) => name);
  return { found, fixed: wrong.filter((name) => healthy.has(name)) };
}

/** A check that throws is a finding like any other, and does not stop the rest. */
async function runCheck(ports: DoctorPorts, { name, run }: Check): Promise<NamedFinding> {
  try {
    return { name, ...(await run(ports)) };
  } catch (error) {
    const hint = (isOrchError(error) && error.hint) || 'Run: orch checkpoint verify';
    return { name, status: 'fail', evidence: `the check failed: ${messageOf(error)}`, fix: hint };
  }
}
