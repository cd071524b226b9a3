import { OrchError } from '../errors.ts';
import { describeDiagnoses } from '../library/upkeep.ts';
import { defaultSettings } from '../session/settings.ts';
import { nodeVersion, thisCommand, userFolders } from '../system/caller.ts';
import { cleanLine, columnsOf } from '../text.ts';
import { count } from '../units.ts';
import { type Diagnoses, examine, examineAndMend } from '../upkeep/doctor.ts';
import type { Output } from './output.ts';
import { runCommands } from './run.ts';
import type { CommandSpec } from './spec.ts';

export const doctorSpec: CommandSpec = {
  name: 'doctor',
  summary: 'find what is wrong here; --fix repairs it',
  description:
    'Look at git, the repository, the settings, hooks, sessions, locks, journals and checkpoints, and say what is wrong. Changes nothing, unless you say --fix; and what --fix does loses nothing.',
  options: [{ flags: '--fix', description: 'put right what can be put right, then look again' }],
  examples: ['orch doctor', 'orch doctor --fix', 'orch doctor --json'],
  run: ({ out, json, settings, withOrch }, call) =>
    withOrch(async (orch) => {
      const caller = {
        node: nodeVersion(),
        command: thisCommand(),
        pinnedWriter: settings.writer ?? null,
        folders: userFolders(),
      };
      const isToFix = call.options.fix === true;
      const found = await (isToFix ? examineAndMend : examine)({
        ...orch,
        caller,
        // That the config is wrong is a finding of its own, and no reason to leave the rest as it is.
        readSettings: () => orch.readSettings().catch(() => defaultSettings),
      });
      out.print(json ? JSON.stringify(describeAsked(found, isToFix)) : show(out, found));
      if (found.ok) return 0;
      const failing = found.checks.filter(({ status }) => status === 'fail').map(({ name }) => name);
      throw new OrchError(
        'DOCTOR_FAILED',
        `${count(failing.length, 'check')} failed: ${failing.join(', ')}`,
        {
          hint: 'What to do about each stands beside it',
          data: { checks: failing },
        },
      );
    }),
};

function describeAsked(found: Diagnoses, isToFix: boolean) {
  const { fixed, ...rest } = describeDiagnoses(found);
  return { ...rest, ...(isToFix && { fixed }) };
}

const marks = { ok: ['✓', 'green'], warn: ['▲', 'yellow'], fail: ['✗', 'red'] } as const;

function show(out: Output, { checks, fixed }: Diagnoses): string {
  const width = Math.max(...checks.map(({ name }) => columnsOf(name)));
  const lines = checks.flatMap(({ name, status, evidence, fix }) => {
    const [mark, colour] = marks[status];
    const padding = ' '.repeat(width - columnsOf(name));
    // What was seen may be anybody's text: a terminal must not take it for a command.
    const shown = `${out.paint(colour, mark)} ${name}${padding}  ${cleanLine(evidence)}`;
    return fix ? [shown, `${' '.repeat(width + 4)}${out.paint('dim', cleanLine(fix))}`] : [shown];
  });
  const mended = fixed.length > 0 ? [`Put right: ${fixed.join(', ')}.`] : [];
  return [...lines, ...mended, summarise(checks)].join('\n');
}

function summarise(checks: Diagnoses['checks']): string {
  const [failed, warned] = (['fail', 'warn'] as const).map(
    (status) => checks.filter((check) => check.status === status).length,
  );
  if (failed === 0 && warned === 0) return 'All is well.';
  const canMend = checks.some(({ mend }) => mend) ? ' Put right what can be: orch doctor --fix' : '';
  return `${failed} failed, ${count(warned ?? 0, 'warning')}.${canMend}`;
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [doctorSpec]);
}
