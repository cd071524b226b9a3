import { hasCode, OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { openRemote, type RemoteOptions } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { listRemotes } from '../git/surroundings.ts';
import { nameAddress } from './remote-refs.ts';
import type { SyncRemote } from './sync-facts.ts';

/** What git itself calls the repository a clone was made from. */
const defaultRemote = 'origin';

export type RemoteChoice = RemoteOptions & {
  /** A name, a URL or a path; null where the user named none. */
  readonly given: string | null;
  /** What is meant then. It comes from a file of the repository. */
  readonly configured: string;
  /** May an address be talked to that is only named there, and in no config of git's? */
  readonly mayUseAddress: (address: string) => boolean | Promise<boolean>;
};

/**
 * The remote that is meant: the one named, else the configured one, else the only one there is. An address in the
 * config that the user has not approved counts as not there.
 */
export async function openSyncRemote(
  { repository, git }: { readonly repository: Repository; readonly git: GitEngine },
  { given, configured, mayUseAddress, ...options }: RemoteChoice,
): Promise<SyncRemote> {
  if (git.name !== 'native')
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a sync needs the git program, and it is not in use here', {
      hint: 'Install git, and leave ORCH_ENGINE unset',
    });
  const open = async (name: string): Promise<SyncRemote> => {
    const remote = await openRemote(repository, name, options);
    return { remote, key: remote.isNamed ? name : nameAddress(name) };
  };
  if (given !== null) return open(given);
  try {
    const chosen = await open(configured);
    if (chosen.remote.isNamed || (await mayUseAddress(configured))) return chosen;
    return await open(defaultRemote);
  } catch (error) {
    if (!hasCode(error, 'REMOTE_NOT_FOUND')) throw error;
    const [only, ...others] = await listRemotes(repository);
    if (only === undefined || others.length > 0) throw error;
    return open(only);
  }
}
