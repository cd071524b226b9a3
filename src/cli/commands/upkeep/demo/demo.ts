import { OrchError } from '../../../../errors.ts';
import { defineCommand } from '../../../run-command.ts';
import { playConvoy } from './convoy-demo.ts';
import { playSession } from './session-demo.ts';

export const command = defineCommand({
  summary: 'ten seconds in a throw-away repository',
  description:
    'Show in a throw-away repository how work survives when an agent is killed: ten seconds with one agent, or with "convoy" up to twenty with four on one plan.',
  argument: { name: 'what', description: 'which demo; one agent by default', choices: ['session', 'convoy'] },
  options: [],
  examples: ['orch demo', 'orch demo convoy'],
  run: async (context, call) => {
    if (context.json) throw new OrchError('USAGE', 'the demo has no JSON output', { hint: 'Run: orch demo' });
    await (call.argument === 'convoy' ? playConvoy : playSession)(context);
    return 0;
  },
});
