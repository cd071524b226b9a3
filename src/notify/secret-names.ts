import type { Orch } from '../orch.ts';
import type { Environment } from '../system/process/spawn.ts';

/*
 * What only receivers may know is taken from the environment of agents, which could sign notices of their own with it. The
 * supervisor of a worker keeps it, because it sends notices too; its worktree may have another config than the scheduler.
 */

/** Has the supervisor of a worker take these names from its agent. */
export async function hideFromAgent(orch: Pick<Orch, 'readConfig'>): Promise<Environment> {
  const names = await listSecretNames(orch);
  return names.length === 0 ? {} : { ORCH_HIDE: names.join(',') };
}

/** The environment of an agent without what it must not have. */
export async function withoutSecrets(
  orch: Pick<Orch, 'readConfig'>,
  asked: readonly string[] = [],
): Promise<Environment> {
  const names = [...asked, ...(await listSecretNames(orch))];
  return { ...Object.fromEntries(names.map((name) => [name, undefined])), ORCH_HIDE: undefined };
}

async function listSecretNames({ readConfig }: Pick<Orch, 'readConfig'>): Promise<string[]> {
  return (await readConfig()).notify.flatMap(({ to }) => {
    if (to.kind !== 'webhook') return [];
    return [to.secret, to.url.startsWith('$') ? to.url.slice(1) : null].filter((name) => name !== null);
  });
}
