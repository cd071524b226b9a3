import { lookUp } from '../keyed.ts';
import type { Command, CommandPlace } from './spec.ts';

/** The exports of a command's file. A file with several commands names each by the last word of its path. */
type Loaded = { readonly command: Command } | { readonly commands: { readonly [name: string]: Command } };

type Loader = () => Promise<Loaded>;

const start: Loader = () => import('./commands/daily/start.ts');
const end: Loader = () => import('./commands/agents/session/session-end.ts');
const list: Loader = () => import('./commands/agents/session/session-list.ts');
const diff: Loader = () => import('./commands/daily/diff.ts');
const restore: Loader = () => import('./commands/daily/restore.ts');
const record: Loader = () => import('./commands/agents/record.ts');
const epic: Loader = () => import('./commands/agents/epic/change.ts');
const batch: Loader = () => import('./commands/plans/batch.ts');
const imports: Loader = () => import('./commands/plans/import.ts');
const convoy: Loader = () => import('./commands/convoy/start.ts');
const convoyLook: Loader = () => import('./commands/convoy/look.ts');
const convoySteer: Loader = () => import('./commands/convoy/steer.ts');
const convoyClaim: Loader = () => import('./commands/convoy/claim.ts');
const witness: Loader = () => import('./commands/agents/witness.ts');
const notify: Loader = () => import('./commands/upkeep/notify.ts');
const called: Loader = () => import('./commands/agents/called-by-agents.ts');

/** Every command, under the headings and in the order of the help. Only the file of the typed command is loaded. */
export const commands: { readonly [heading: string]: { readonly [path: string]: Loader } } = {
  Daily: {
    init: () => import('./commands/daily/init.ts'),
    status: () => import('./commands/daily/status.ts'),
    start,
    resume: start,
    log: () => import('./commands/daily/log.ts'),
    diff,
    restore,
    brief: () => import('./commands/daily/brief.ts'),
    'cost status': () => import('./commands/daily/cost-status.ts'),
    'cost report': () => import('./commands/daily/cost-report.ts'),
    'cost budget': () => import('./commands/daily/cost-budget.ts'),
    'cost import': () => import('./commands/daily/cost-import.ts'),
    sync: () => import('./commands/daily/sync.ts'),
  },
  'Agents and scripts': {
    'record note': record,
    'record decision': record,
    'record blocker': record,
    'record tried': record,
    'record question': record,
    'record file': record,
    'record issue': record,
    'record task': record,
    'record test': record,
    'record cost': record,
    'session start': start,
    'session resume': start,
    'session status': () => import('./commands/agents/session/session-status.ts'),
    'session show': () => import('./commands/agents/session/session-show.ts'),
    'session logs': () => import('./commands/agents/session/session-logs.ts'),
    'session pause': end,
    'session complete': end,
    'session list': list,
    pause: end,
    complete: end,
    list,
    'epic list': () => import('./commands/agents/epic/epic-list.ts'),
    'epic rename': epic,
    'epic archive': epic,
    'epic delete': epic,
    'epic restore': epic,
    'checkpoint create': () => import('./commands/agents/checkpoint/checkpoint-create.ts'),
    'checkpoint list': () => import('./commands/agents/checkpoint/checkpoint-list.ts'),
    'checkpoint show': () => import('./commands/agents/checkpoint/checkpoint-show.ts'),
    'checkpoint diff': diff,
    'checkpoint restore': restore,
    'checkpoint verify': () => import('./commands/agents/checkpoint/checkpoint-verify.ts'),
    ask: () => import('./commands/agents/ask.ts'),
    baseline: () => import('./commands/agents/baseline.ts'),
    'witness status': witness,
    'witness config': witness,
    'witness start': witness,
    'witness stop': witness,
    hook: called,
    statusline: called,
    mcp: called,
  },
  Plans: {
    run: () => import('./commands/plans/run.ts'),
    'batch start': batch,
    'batch next': batch,
    'batch complete': () => import('./commands/plans/batch-complete.ts'),
    'batch status': () => import('./commands/plans/batch-status.ts'),
    bisect: () => import('./commands/plans/bisect.ts'),
    route: () => import('./commands/convoy/route.ts'),
    'convoy start': convoy,
    'convoy resume': convoy,
    'convoy list': convoyLook,
    'convoy show': convoyLook,
    'convoy why': convoyLook,
    'convoy logs': convoyLook,
    'convoy diff': convoyLook,
    'convoy say': convoySteer,
    'convoy attach': convoySteer,
    'convoy pause': convoySteer,
    'convoy cancel': convoySteer,
    'convoy retry': convoySteer,
    'convoy add': convoySteer,
    'convoy budget': convoySteer,
    'convoy claim': convoyClaim,
    'convoy done': convoyClaim,
    'convoy review': () => import('./commands/convoy/review.ts'),
    'convoy land': () => import('./commands/convoy/land.ts'),
    'convoy report': () => import('./commands/convoy/report.ts'),
    'convoy reflect': () => import('./commands/convoy/reflect.ts'),
    'convoy clean': () => import('./commands/convoy/clean.ts'),
    'import beads': imports,
    'import gastown': imports,
    'import gascity': imports,
    'import github': imports,
  },
  Upkeep: {
    doctor: () => import('./commands/upkeep/doctor.ts'),
    'notify list': notify,
    'notify test': notify,
    'notify replay': notify,
    'notify drop': notify,
    cleanup: () => import('./commands/upkeep/cleanup.ts'),
    demo: () => import('./commands/upkeep/demo/demo.ts'),
    completion: () => import('./commands/upkeep/completion.ts'),
  },
};

const all: { readonly [path: string]: Loader } = Object.assign({}, ...Object.values(commands));

/** A command with subcommands; `initial` is the one that the word alone means. */
type Group = { readonly summary: string; readonly description: string; readonly initial?: string };

export const groups: { readonly [word: string]: Group } = {
  cost: {
    summary: 'what an epic costs, and its budget',
    description: 'Show what an epic costs and where the money went, and set its budget.',
    initial: 'status',
  },
  record: {
    summary: 'note, decision, blocker, tried, file, task, test, cost …',
    description: 'Record what happens, in the running session or in one opened for this call.',
  },
  session: {
    summary: 'start, resume, status, show, logs, pause, complete, list',
    description:
      'Manage sessions. A session is one stretch of work on an epic, by an agent, a person or a plan.',
  },
  epic: {
    summary: 'list, rename, archive, delete, restore',
    description:
      'Manage whole epics. Each change shows first what it does to the budget, snapshots and remotes, and asks.',
    initial: 'list',
  },
  checkpoint: {
    summary: 'create, list, show, diff, restore, verify',
    description:
      'Save and look at checkpoints: commits on refs/orchestration/epics/<epic>, beside your branches.',
  },
  convoy: {
    summary: 'many agents on one plan: start, show, say, why, land …',
    description:
      'Let several agents work on the tasks of a plan at once, each in a git worktree of its own, on one budget.',
  },
  witness: {
    summary: 'looks after agents at work: status, config, start, stop',
    description:
      'Look after the agents at work, by evidence: a loop or a silence is first told to the agent, then escalated. It never calls a model.',
    initial: 'status',
  },
  notify: {
    summary: 'who hears of what happens: list, test, replay, drop',
    description:
      'Look after the notices that go to webhooks, commands and files, as notify: in .orchestration/config.yaml says.',
    initial: 'list',
  },
  batch: {
    summary: 'work through a spec: start, next, complete, status',
    description:
      'Work through a spec (tasks.yaml and dependencies.yaml in a folder of specs/active), batch by batch.',
    initial: 'status',
  },
  import: {
    summary: 'a plan from issues: beads, gastown, gascity, github',
    description:
      'Turn the issues of another tracker into a plan to review, with a report of what has no place in it.',
  },
};

type Found = { readonly place: CommandPlace; load(): Promise<Command> };

/** Finds the command that these words name, the longest name first; a group's name alone means its initial command. */
export function findCommand([first = '', second = '']: readonly string[]): Found | null {
  const initial = lookUp(groups, first)?.initial;
  for (const path of [[first, second], [first], ...(initial ? [[first, initial]] : [])]) {
    const load = lookUp(all, path.join(' '));
    if (load)
      return {
        load: () => loadCommand(load, path),
        place: { path, isInitial: path.length > 1 && path[1] === initial },
      };
  }
  return null;
}

export async function loadCommand(load: Loader, path: readonly string[]): Promise<Command> {
  const loaded = await load();
  const found = 'command' in loaded ? loaded.command : lookUp(loaded.commands, path.at(-1) ?? '');
  if (found === undefined) throw new Error(`no command is defined for ${path.join(' ')}`);
  return found;
}
