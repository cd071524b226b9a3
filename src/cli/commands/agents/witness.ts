import { OrchError } from '../../../errors.ts';
import { configureWitness, readWitness, setWitness, type WitnessStatus } from '../../../index.ts';
import { formatAge } from '../../../units.ts';
import { type Output, printJson, showTable } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import type { Command } from '../../spec.ts';
import { formatWhen } from '../../views/time-view.ts';

export const commands: { readonly [name: string]: Command } = {
  status: defineCommand({
    summary: 'how the agents at work are, and by what evidence',
    description:
      'Show how the agents at work in this clone are: working, quiet, waiting, limited, looping, stuck or dead, and by what evidence.',
    options: [],
    examples: ['orch witness status', 'orch witness status --json'],
    run: inRepository(async ({ out, json }, orch) => {
      const status = await readWitness(orch);
      if (json) return printJson(out, status);
      const now = orch.clock.now();
      for (const line of showStatus(out, status, now)) out.print(line);
      return undefined;
    }),
  }),

  config: defineCommand({
    summary: 'its policy; KEY=VALUE changes it',
    description:
      'Show the policy of the witness, or change it in .orchestration/config.yaml: quiet, stuck, patience (durations) and repeats (a number).',
    argument: { name: 'setting', description: 'such as stuck=20m' },
    options: [],
    examples: ['orch witness config', 'orch witness config stuck=20m'],
    run: inRepository(async ({ out, json }, orch, call) => {
      const given = call.argument;
      const policy =
        given === undefined
          ? (await readWitness(orch)).policy
          : await configureWitness(parseSetting(given), orch);
      if (json) return printJson(out, { policy });
      for (const line of showPolicy(policy)) out.print(line);
      if (!(await readWitness(orch)).acts) out.print(onlyWatches);
      return undefined;
    }),
  }),

  start: defineCommand({
    summary: 'let it act on agents in trouble (the default)',
    description: 'Let the witness act on agents in trouble, in this clone, from now on.',
    options: [],
    examples: ['orch witness start'],
    run: inRepository((context, orch) => turn(context, true, () => setWitness(true, orch))),
  }),

  stop: defineCommand({
    summary: 'have it only watch',
    description: 'Have the witness only watch, in this clone, from now on: agents at work included.',
    options: [],
    examples: ['orch witness stop'],
    run: inRepository((context, orch) => turn(context, false, () => setWitness(false, orch))),
  }),
};

async function turn(
  { out, json, settings }: Context,
  acts: boolean,
  set: () => Promise<void>,
): Promise<undefined> {
  if (settings.byAgent && !acts)
    throw new OrchError('USAGE', 'an agent cannot stop the witness that looks after it', {
      hint: 'Ask the user to',
    });
  await set();
  if (json) printJson(out, { acts });
  else out.print(acts ? 'The witness acts on agents in trouble.' : 'The witness only watches.');
  return undefined;
}

function parseSetting(text: string): { readonly [key: string]: string | number } {
  const [, key, value] = /^([a-z]+)=(\S+)$/i.exec(text) ?? [];
  if (key !== undefined && value !== undefined) return { [key]: /^\d+$/.test(value) ? Number(value) : value };
  throw new OrchError('USAGE', `${JSON.stringify(text)} is not a setting`, {
    hint: 'Example: orch witness config stuck=20m',
  });
}

function showPolicy({ quiet, stuck, repeats, patience, actions }: WitnessStatus['policy']): string[] {
  return [
    `quiet     ${formatAge(quiet)} without a sign of life`,
    `stuck     ${formatAge(stuck)} without a sign of life`,
    `repeats   ${repeats} times the same step with the same result is a loop`,
    `patience  ${formatAge(patience)} between two actions`,
    `actions   ${actions.length === 0 ? 'none: it only watches' : actions.join(', then ')}`,
  ];
}

function showStatus(out: Output, { acts, agents }: WitnessStatus, now: number): string[] {
  if (agents.length === 0) return ['No agent is at work in this clone.', ...(acts ? [] : [onlyWatches])];
  const rows = agents.map(({ epicId, agent, health, why, since, action }) => [
    epicId,
    agent ?? '–',
    paintHealth(out, health),
    since === null ? '' : formatWhen(since, now),
    action === null ? why : `${why} (${describeAction(action)})`,
  ]);
  const table = showTable(out, ['EPIC', 'AGENT', 'HEALTH', 'SINCE', 'WHY'], rows, [{}, {}, {}, {}, {}]);
  return [table, ...(acts ? [] : [onlyWatches])];
}

const onlyWatches = 'The witness only watches. Let it act: orch witness start';

function paintHealth(out: Output, health: WitnessStatus['agents'][number]['health']): string {
  if (health === 'working' || health === 'quiet') return health;
  return out.paint(health === 'stuck' || health === 'dead' ? 'red' : 'yellow', health);
}

function describeAction(action: NonNullable<WitnessStatus['agents'][number]['action']>): string {
  return { nudge: 'nudged', escalate: 'escalated', end: 'ended' }[action];
}
