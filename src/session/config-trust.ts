import { type Claim, type Config, findClaims, withoutClaims } from '../config.ts';
import { approve, isApproved } from '../integration/trust.ts';
import type { Random } from '../system/clock.ts';
import type { Disk } from '../system/files.ts';

type TrustPorts = {
  readonly home: string;
  /** Does the caller vouch for the repository's files? */
  readonly isTrusted: boolean;
};

/** The settings as they count in this clone: what the user has not approved is as if it were not there. */
export function honourConfig(ports: TrustPorts, config: Config): Config {
  return withoutClaims(config, listUnapproved(ports, config));
}

/** What a config says that waits for the user's yes. `isRemote` knows the remotes in git's own config. */
export function listUnapproved(
  { home, isTrusted }: TrustPorts,
  config: Config,
  isRemote?: (name: string) => boolean,
): Claim[] {
  if (isTrusted) return [];
  return findClaims(config, isRemote).filter((claim) => !isApproved(home, [claim]));
}

/** Remembers the user's yes to exactly these. */
export function approveClaims(
  { disk, home, random }: { readonly disk: Disk; readonly home: string; readonly random: Random },
  claims: readonly Claim[],
): Promise<void> {
  return approve(disk, home, claims, random);
}
