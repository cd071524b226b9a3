import { basename } from 'node:path';
import type { Orch } from '../orch.ts';
import type { AgentPlan } from '../session/conversation.ts';
import type { StartRequest } from '../session/lifecycle.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** The conversation of the agent behind `--`. What it takes to read one is loaded only for a command. */
export async function planCommand(
  context: Context,
  orch: Orch,
  call: Call,
  epic: StartRequest['epic'],
  resumes: boolean,
): Promise<AgentPlan | null> {
  if (call.rest.length === 0) return null;
  const { planAgent } = await import('./conversation.ts');
  // From an older checkpoint on, what was said later is not known.
  return planAgent(context, orch, call, epic, goesOn(call, resumes) && !hasCheckpoint(call));
}

/** What the agent behind `--` is asked, where its command line says it. */
export async function readRequest({ rest }: Call): Promise<string | null> {
  if (rest.length === 0) return null;
  const { commandOf, identifyAgent } = await import('../integration/agent-command.ts');
  const agent = identifyAgent(rest);
  return agent && commandOf(agent).prompt(rest.slice(1));
}

function hasCheckpoint(call: Call): boolean {
  return textOf(call, 'checkpoint') !== undefined;
}

function goesOn(call: Call, resumes: boolean): boolean {
  return resumes || call.options.resume === true || hasCheckpoint(call);
}

/** What is asked for, as it was typed. */
export async function makeRequest(
  { settings }: Context,
  orch: Orch,
  call: Call,
  epic: StartRequest['epic'],
  { resumes, plan }: { readonly resumes: boolean; readonly plan: AgentPlan | null },
): Promise<StartRequest> {
  const command = call.rest.length > 0 ? call.rest : null;
  return {
    ...(settings.background && { session: settings.background }),
    epic,
    agent: textOf(call, 'agent') ?? (command ? basename(command[0] ?? '') : null),
    budget: textOf(call, 'budget') ?? null,
    byAgent: settings.byAgent,
    kind: 'supervised',
    worktree: orch.repository.worktree,
    command,
    settings: await orch.readSettings(),
    takeOver: call.options['take-over'] === true,
    ...(plan?.session && {
      facts: [
        {
          kind: 'current_set',
          key: 'agent',
          value: { name: plan.agent, session: plan.session, model: null },
        },
      ],
    }),
    resume: goesOn(call, resumes) ? { checkpoint: textOf(call, 'checkpoint') ?? null } : null,
  };
}
