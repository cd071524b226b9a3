import type { Orch } from '../orch.ts';
import type { Environment } from '../system/process/spawn.ts';

/** Takes from the environment of an agent what only receivers may know: with it, the agent could sign notices of its own. */
export async function hideSecrets({ readConfig }: Pick<Orch, 'readConfig'>): Promise<Environment> {
  const names = (await readConfig()).notify.flatMap(({ to }) => {
    if (to.kind !== 'webhook') return [];
    return [to.secret, to.url.startsWith('$') ? to.url.slice(1) : null].filter((name) => name !== null);
  });
  return Object.fromEntries(names.map((name) => [name, undefined]));
}
