import { isOrchError } from '../errors.ts';
import { checkpoints, code } from './doctor-checkpoints.ts';
import { identities } from './doctor-identity.ts';
import { journals } from './doctor-journals.ts';
import { money } from './doctor-money.ts';
import { refs } from './doctor-refs.ts';
import { sessionChecks } from './doctor-sessions.ts';
import { storage } from './doctor-storage.ts';
import { surroundings } from './doctor-surroundings.ts';
import type { Check, DoctorPorts, Finding } from './doctor-types.ts';

/** Every question, in the order in which they are shown and mended: a session is recovered before its journal is. */
const checks: readonly Check[] = [
  ...surroundings,
  ...identities,
  ...sessionChecks,
  journals,
  refs,
  checkpoints,
  code,
  money,
  ...storage,
];

export type Diagnosis = Finding & { readonly name: string };

export type Diagnoses = {
  /** Does nothing fail? */
  readonly ok: boolean;
  readonly checks: readonly Diagnosis[];
  /** The checks that were put right. */
  readonly fixed: readonly string[];
};

/** Looks at everything, and changes nothing. */
export async function examine(ports: DoctorPorts): Promise<Diagnoses> {
  const found = await Promise.all(checks.map((check) => ask(ports, check)));
  return { ok: found.every(({ status }) => status !== 'fail'), checks: found, fixed: [] };
}

/** Puts right what can be put right without losing anything, one after the other, and looks again. */
export async function examineAndMend(ports: DoctorPorts): Promise<Diagnoses> {
  const before = await examine(ports);
  const tried = new Map<string, string | null>();
  for (const check of checks) {
    // Each is asked anew: mending the one before may have put this one right too.
    const { name, mend } = await ask(ports, check);
    if (mend) tried.set(name, await tryTo(mend));
  }
  const after = await examine(ports);
  const rightNow = new Set(after.checks.filter(({ status }) => status === 'ok').map(({ name }) => name));
  const wrong = before.checks.filter(({ status }) => status !== 'ok').map(({ name }) => name);
  return {
    ...after,
    checks: after.checks.map((diagnosis) => {
      const problem = tried.get(diagnosis.name);
      return problem
        ? { ...diagnosis, evidence: `${diagnosis.evidence} (not mended: ${problem})` }
        : diagnosis;
    }),
    fixed: wrong.filter((name) => rightNow.has(name)),
  };
}

/** A check that fails itself is a finding like any other, and hides none. */
async function ask(ports: DoctorPorts, { name, look }: Check): Promise<Diagnosis> {
  try {
    return { name, ...(await look(ports)) };
  } catch (error) {
    const hint = (isOrchError(error) && error.hint) || 'Run: orch checkpoint verify';
    return { name, status: 'fail', evidence: `it could not be looked at: ${messageOf(error)}`, fix: hint };
  }
}

async function tryTo(mend: () => Promise<void>): Promise<string | null> {
  try {
    await mend();
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
