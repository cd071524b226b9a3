import { type Environment, inheritedEnvironment } from '../system/spawn.ts';
import type { Repository } from './repository.ts';
import { finished, gitEnvironment, startGit } from './spawn.ts';

/** How the user's git reaches servers: certificates, proxies, programs, addresses that stand for others. */
const transportVariable =
  /^GIT_(SSL_.*|HTTP_.*|PROXY_.*|SSH|SSH_VARIANT|ALLOW_PROTOCOL|PROTOCOL_FROM_USER|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+))$/;

/** No passphrase is asked for, and no connection is left open for others: it would be ended with this one. */
const sshOptions = '-o BatchMode=yes -o ControlMaster=no';

/**
 * The environment of a git that talks to a remote. It reaches what the user's own git reaches, and asks nobody:
 * who could answer need not be there.
 */
export function remoteEnvironment(
  configuredSsh: string | null,
  inherited: Environment = inheritedEnvironment(),
): Environment {
  const transport = Object.entries(inherited).filter(([name]) => transportVariable.test(name));
  const ssh = chooseSsh(inherited, configuredSsh);
  return {
    ...gitEnvironment(inherited),
    ...Object.fromEntries(transport),
    ...(ssh !== null && { GIT_SSH_COMMAND: ssh }),
    GIT_ASKPASS: '', // set, so that no other program is looked for
    SSH_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_NO_LAZY_FETCH: undefined, // a partial clone may need more to send what it has
  };
}

/** The user's own way to call ssh, told not to ask; null where it is a program of which only the user knows. */
function chooseSsh({ GIT_SSH_COMMAND, GIT_SSH }: Environment, configured: string | null): string | null {
  const own = GIT_SSH_COMMAND || configured;
  if (!own) return GIT_SSH ? null : `ssh ${sshOptions}`;
  const program = /^\s*("[^"]*"|'[^']*'|\S+)/.exec(own)?.[1]?.replace(/["']/g, '') ?? '';
  return /(^|[\\/])ssh(\.exe)?$/.test(program) ? `${own} ${sshOptions}` : own;
}

/** Is this an address that git reaches by ssh? */
export function isSshAddress(url: string): boolean {
  return (
    /^(ssh|git\+ssh|ssh\+git):\/\//.test(url) || (/^[^/:]{2,}:/.test(url) && !/^[a-z+]+:\/\//i.test(url))
  );
}

/** The ssh command in the user's settings, where there is one. */
export async function readSshCommand(repository: Repository): Promise<string | null> {
  const child = startGit(repository, ['config', '--get', 'core.sshCommand'], remoteEnvironment(null));
  child.stdin.end();
  return (await finished(child)).stdout.trim() || null;
}
