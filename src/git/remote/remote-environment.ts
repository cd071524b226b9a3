import { type Environment, inheritedEnvironment } from '../../system/process/spawn.ts';
import type { Repository } from '../repository.ts';
import { askGit, gitEnvironment } from '../run-git.ts';

/** Variables that affect how the user's git reaches servers: certificates, proxies, programs, rewritten addresses. */
const transportVariable =
  /^GIT_(SSL_.*|HTTP_.*|PROXY_.*|SSH|SSH_VARIANT|ALLOW_PROTOCOL|PROTOCOL_FROM_USER|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+))$/;

/** Never ask for a passphrase, and keep no shared connection open: it would end with this process. */
const sshOptions = '-o BatchMode=yes -o ControlMaster=no';

/**
 * The environment of a git that talks to a remote. It reaches whatever the user's own git reaches, but never prompts:
 * there may be no user to answer.
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
    GIT_ASKPASS: '', // set, so that git does not look for another program
    SSH_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_NO_LAZY_FETCH: undefined, // a partial clone may have to fetch objects before it can push
  };
}

/** Adds options against prompting to the user's ssh command; null if it is an unknown program. */
function chooseSsh({ GIT_SSH_COMMAND, GIT_SSH }: Environment, configured: string | null): string | null {
  const own = GIT_SSH_COMMAND || configured;
  if (!own) return GIT_SSH ? null : `ssh ${sshOptions}`;
  const program = /^\s*("[^"]*"|'[^']*'|\S+)/.exec(own)?.[1]?.replace(/["']/g, '') ?? '';
  return /(^|[\\/])ssh(\.exe)?$/.test(program) ? `${own} ${sshOptions}` : own;
}

/** Tells whether git uses ssh for this address. */
export function isSshAddress(url: string): boolean {
  return (
    /^(ssh|git\+ssh|ssh\+git):\/\//.test(url) || (/^[^/:]{2,}:/.test(url) && !/^[a-z+]+:\/\//i.test(url))
  );
}

/** Reads the ssh command from the user's git settings. */
export async function readSshCommand(repository: Repository): Promise<string | null> {
  const environment = remoteEnvironment(null);
  const { stdout } = await askGit(repository, ['config', '--get', 'core.sshCommand'], { environment });
  return stdout.trim() || null;
}
