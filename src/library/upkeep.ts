import { OrchError } from '../errors.ts';
import { defaultSettings } from '../session/settings.ts';
import { nodeVersion, thisCommand, userFolders } from '../system/caller.ts';
import { cleanUpStorage } from '../upkeep/cleanup.ts';
import { describeCleanup } from '../upkeep/cleanup-describe.ts';
import { type Diagnoses, examine, examineAndMend } from '../upkeep/doctor.ts';
import { using, type Where } from './where.ts';

const day = 86_400_000;

export type CleanUpOptions = {
  /** Says what would go, and removes nothing. */
  readonly dryRun?: boolean;
  /** Keeps snapshots and what failed this long, whatever the config says. */
  readonly maxAgeDays?: number;
};

export type CleanedUp = ReturnType<typeof describeCleanup>;

/** Removes what is past its retention, and archives epics that were completed long ago. */
export async function cleanUp(options: CleanUpOptions = {}, where: Where = {}): Promise<CleanedUp> {
  const { dryRun = false, maxAgeDays } = options;
  if (maxAgeDays !== undefined && !(Number.isInteger(maxAgeDays) && maxAgeDays >= 0))
    throw new OrchError('USAGE', 'maxAgeDays is a whole number of days', { hint: 'Try { maxAgeDays: 14 }' });
  return using(where, async (orch) => {
    const { retention } = await orch.readConfig();
    const given = maxAgeDays === undefined ? {} : { failed: maxAgeDays * day, snapshots: maxAgeDays * day };
    return describeCleanup(await cleanUpStorage(orch, { ...retention, ...given }, dryRun), orch.home);
  });
}

/** What the doctor found, as scripts read it. */
export type Diagnosed = {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly status: 'ok' | 'warn' | 'fail';
    readonly evidence: string;
    readonly fix: string | null;
  }[];
  /** The checks that were put right. */
  readonly fixed: readonly string[];
};

/** Looks at everything, and says what is wrong; with `fix` it repairs what can be repaired without losing anything. */
export async function runDoctor(
  options: { readonly fix?: boolean } = {},
  where: Where = {},
): Promise<Diagnosed> {
  return using(where, async (orch) => {
    const found = await (options.fix ? examineAndMend : examine)({
      ...orch,
      caller: { node: nodeVersion(), command: thisCommand(), pinnedWriter: null, folders: userFolders() },
      readSettings: () => orch.readSettings().catch(() => defaultSettings),
    });
    return describeDiagnoses(found);
  });
}

export function describeDiagnoses({ ok, checks, fixed }: Diagnoses): Diagnosed {
  return {
    ok,
    checks: checks.map(({ name, status, evidence, fix }) => ({ name, status, evidence, fix: fix ?? null })),
    fixed,
  };
}
