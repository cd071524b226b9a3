import { defaultConfig } from '../config/defaults.ts';
import { configFile } from '../config/load.ts';
import { parseConfig } from '../config/parse.ts';
import { readUserFile } from '../config/yaml/user-file.ts';
import { setYamlValues } from '../config/yaml/yaml-edit.ts';
import { OrchError } from '../errors.ts';
import { checkLive, type LiveRecord, listLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { readView } from '../record/view.ts';
import { readLink } from '../session/agent/agent-link.ts';
import { sleep } from '../system/clock.ts';
import { replaceFile, statIfThere } from '../system/disk.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { using, type Where } from '../where.ts';
import { type KnownHealth, readHealth } from './health-file.ts';
import { freshMemory, type Health, judge, type WitnessPolicy } from './judge.ts';
import { emptyCache, lookAtAgent } from './look-at-agent.ts';
import { isWitnessOn, turnWitness } from './witness-switch.ts';

/** An agent at work in this clone, as the witness sees it. */
export type WitnessedAgent = {
  readonly epicId: EpicId;
  readonly sessionId: SessionId;
  readonly agent: string | null;
  readonly health: Health;
  /** The evidence, in words. */
  readonly why: string;
  /** Since when it is like this, if a witness has been watching. */
  readonly since: string | null;
  /** The last thing the witness did about it. */
  readonly action: KnownHealth['action'];
};

export type WitnessStatus = {
  /** Does it act, or only watch? */
  readonly acts: boolean;
  readonly policy: WitnessPolicy;
  readonly agents: readonly WitnessedAgent[];
};

/** Reads how the agents at work in this clone are, and what the witness may do about it. */
export function readWitness(where: Where = {}): Promise<WitnessStatus> {
  return using(where, async (orch) => {
    const { witness: policy } = await orch.readConfig();
    const live = listLive(orch.home).filter(
      ({ kind, session }) => kind === 'hooked' || readHealth(orch.home, session) !== null,
    );
    const agents = await Promise.all(live.map((each) => describeAgent(orch, each, policy)));
    return { acts: isWitnessOn(orch.home) && policy.actions.length > 0, policy, agents };
  });
}

/** Lets the witness act, or only watch, in this clone; at once, also on agents that work already. */
export function setWitness(isOn: boolean, where: Where = {}): Promise<void> {
  return using(where, (orch) => turnWitness(orch, isOn));
}

async function describeAgent(orch: Orch, live: LiveRecord, policy: WitnessPolicy): Promise<WitnessedAgent> {
  const { epic, session } = live;
  const { state } = await readView(orch, epic);
  const known = readHealth(orch.home, session);
  const isAlive = checkLive(live) !== 'dead';
  const seen = known !== null && isAlive ? known : await lookOnce(orch, live, policy, isAlive);
  return {
    ...{ epicId: epic, sessionId: session, agent: lookUp(state.sessions, session)?.value.agent ?? null },
    ...{ health: seen.health, why: seen.why },
    since: known === null ? null : formatInstant(known.since),
    action: known?.action ?? null,
  };
}

/** Long enough to tell a busy process from one that waits. */
const lookFor: Millis = 300;

/** Looks at an agent that nothing has been watching: what it wrote last says how long it has been silent. */
async function lookOnce(
  orch: Orch,
  { session, epic, holder }: LiveRecord,
  policy: WitnessPolicy,
  isAlive: boolean,
): Promise<{ readonly health: Health; readonly why: string }> {
  const { state } = await readView(orch, epic);
  const { home } = orch;
  const watched = { home, session, state, pid: isAlive ? holder.pid : null, isAlive, printed: null };
  const cache = emptyCache();
  const first = lookAtAgent(watched, cache, 0);
  if (isAlive) await sleep(lookFor);
  const written = (readLink(home, session)?.transcripts ?? []).map((path) => statIfThere(path)?.mtimeMs ?? 0);
  const silent = written.length === 0 ? 0 : Math.max(0, orch.clock.now() - Math.max(...written));
  return judge(lookAtAgent(watched, cache, lookFor), policy, { ...freshMemory, last: first, silent });
}

const mostBytes = 256 * 1024;

/** Changes the witness's policy in the repository's config, and returns it. `changes` are as in the file. */
export function configureWitness(
  changes: { readonly [key: string]: string | number },
  where: Where = {},
): Promise<WitnessPolicy> {
  return using(where, async ({ repository, disk, random }) => {
    const root = repository.worktree;
    if (root === null) throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no config');
    for (const key of Object.keys(changes)) refuseUnknown(key);
    const found = readUserFile(root, configFile, mostBytes);
    if (found === null)
      throw new OrchError('USAGE', `there is no ${configFile}`, { hint: 'Create it: orch init --config' });
    if ('problem' in found) throw new OrchError('CONFIG_INVALID', `${configFile}: ${found.problem}`);
    const edited = setYamlValues(found.bytes.toString('utf8'), 'witness', changes);
    if ('problem' in edited) throw new OrchError('CONFIG_INVALID', `${configFile}: ${edited.problem}`);
    const { witness } = parseConfig(edited.text, configFile);
    const change = { expected: found.bytes, bytes: Buffer.from(edited.text) };
    if (!(await replaceFile(disk, found.path, change, random.id(8))))
      throw new OrchError('WRITE_FAILED', `${configFile} was changed meanwhile`, { hint: 'Try again' });
    return witness;
  });
}

/** The list of actions is for an editor: it cannot be written in one word. */
const settable = Object.keys(defaultConfig.witness).filter((key) => key !== 'actions');

function refuseUnknown(key: string): void {
  if (settable.includes(key)) return;
  throw new OrchError('USAGE', `the witness has no setting ${key}; it has ${settable.join(', ')}`, {
    hint: `Example: orch witness config stuck=20m. Its actions are set in ${configFile}`,
  });
}
