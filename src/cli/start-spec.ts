import { epicOption } from './choose.ts';
import type { CommandSpec, OptionSpec } from './spec.ts';

const common: readonly OptionSpec[] = [
  {
    flags: '-b, --budget <usd>',
    description: 'for the whole epic: 20 in all, +20 more than is spent now, none lifts it',
  },
  { flags: '--agent <name>', description: 'who works; the command by default' },
  { flags: '--no-baseline', description: 'do not run the gates' },
  { flags: '--require-green', description: 'run the gates first; exit 3 if one fails' },
  { flags: '--on-limit <what>', description: "at a provider's limit: wait (the default) or fail" },
  { flags: '--background', description: 'return once the start checkpoint is durable' },
  { flags: '--complete', description: 'call the work done when the command ends well' },
  { flags: '--take-over', description: 'though another session may still run elsewhere' },
  { flags: '--result <file>', description: 'write how it ended as JSON' },
  { flags: '--checkpoint <name>', description: 'go on from an older checkpoint', names: 'checkpoint' },
];

/** `session start`, and its short form. What it takes to run it is loaded when it is run. */
export function startSpec(name: string, summary?: string): CommandSpec {
  return {
    name,
    ...(summary && { summary }),
    description:
      'Start a session on an epic: in the foreground until Ctrl+C, or around a command, which gets ORCH_EPIC, ORCH_SESSION and ORCH_BRIEF_FILE.',
    options: [
      epicOption('the epic; it is made if needed'),
      { flags: '--resume', description: 'go on from the newest session, with its brief' },
      ...common,
    ],
    takesCommand: true,
    examples: [
      'orch start --epic feat-login --budget 5',
      'orch start -e migrate -b +20 -- claude -p "Go on with the migration"',
      'orch start -e migrate --background -- ./agent.sh',
    ],
    run: async (context, call) => (await import('./start.ts')).runStart(context, call, false),
  };
}

/** `session resume`, and its short form. */
export function resumeSpec(name: string, summary?: string): CommandSpec {
  return {
    name,
    ...(summary && { summary }),
    description:
      'Continue an epic: recovers what a crash left, starts the next session, hands over the brief.',
    options: [epicOption(), ...common],
    takesCommand: true,
    examples: ['orch resume', 'orch resume -e migrate --budget +10 -- codex exec "go on"'],
    run: async (context, call) => (await import('./start.ts')).runStart(context, call, true),
  };
}
