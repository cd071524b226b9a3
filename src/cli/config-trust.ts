import { configFile } from '../config.ts';
import type { Claim, Orch } from '../orch.ts';
import { isFromInside } from '../session/origin.ts';
import { catchSignals } from '../system/signals.ts';
import { askYesNo, canAsk } from './ask.ts';
import { flatten } from './output.ts';
import type { Context } from './run.ts';

/** Approves what the repository's config asks for, and nothing else; it shows all of it, and asks. */
export const approveCommand = 'orch init --no-claude --no-codex';

/** `redact.presets: false (whether known secrets are kept out of what orch records)` */
export function showClaim({ key, value, asks }: Claim): string {
  return flatten(`${key}: ${JSON.stringify(value).slice(0, 200)} (${asks})`);
}

/**
 * Settings of the repository that are the user's to decide: asks about them once, and remembers a yes. Where nobody can
 * be asked, and for an agent, orch's defaults stay, and it says so.
 */
export async function settleConfig({ out, json, settings }: Context, orch: Orch): Promise<void> {
  const claims = await orch.listUnapproved();
  if (claims.length === 0) return;
  const names = claims.map(({ key }) => key).join(', ');
  if (!json && !out.isQuiet && canAsk() && !settings.byAgent && !isFromInside(orch.home)) {
    out.tell(`${configFile} came with this repository, and sets:`);
    for (const claim of claims) out.tell(`  ${showClaim(claim)}`);
    const signals = catchSignals();
    const isYes = await askYesNo('Use these settings in this clone?', signals.aborted).finally(
      signals.release,
    );
    const caught = signals.caught();
    // Nobody listens here any more: it ends the command as it would anywhere else.
    if (caught !== null) process.kill(process.pid, caught.signal);
    if (isYes) return orch.approveClaims(claims);
  }
  if (!json) out.tell(`orch: ${names} in ${configFile} is not used until you approve it: ${approveCommand}`);
}
