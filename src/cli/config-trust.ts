import { type Claim, configFile, isFromInside, type Orch } from '../index.ts';
import { askOrSignal, canAsk } from './confirm.ts';
import { flatten } from './output.ts';
import type { Context } from './run-command.ts';

/** Approves the settings in the repository's config, and nothing else; it shows them all, and asks. */
const approveCommand = 'orch init --no-claude --no-codex';

/** `redact.presets: false (whether known secrets are kept out of what orch records)` */
export function showClaim({ key, value, asks }: Claim): string {
  return flatten(`${key}: ${JSON.stringify(value).slice(0, 2_000)} (${asks})`);
}

/**
 * Asks once about settings of the repository that only the user may approve, and remembers a yes. Agents, and calls
 * without a terminal, get orch's defaults and a message that says so.
 */
export async function approveConfig({ out, json, settings }: Context, orch: Orch): Promise<void> {
  const claims = await orch.listUnapproved();
  if (claims.length === 0) return;
  if (!json && !out.isQuiet && canAsk() && !settings.byAgent && !isFromInside(orch.home)) {
    out.inform(`${configFile} came with this repository, and sets:`);
    for (const claim of claims) out.inform(`  ${showClaim(claim)}`);
    const answer = await askOrSignal('Use these settings in this clone?');
    // The signal is no longer caught, so sending it again ends the command as usual.
    if (typeof answer === 'string') process.kill(process.pid, answer);
    if (answer === true) return orch.approveClaims(claims);
  }
  const names = claims.map(({ key }) => key).join(', ');
  if (!json)
    out.inform(`orch: ${names} in ${configFile} is not used until you approve it: ${approveCommand}`);
}
