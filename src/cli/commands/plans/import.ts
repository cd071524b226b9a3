import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { OrchError } from '../../../errors.ts';
import {
  type ImportedPlan,
  type ImportInput,
  type ImportSource,
  importPlan,
  incompleteImport,
} from '../../../index.ts';
import { realRandom } from '../../../system/clock.ts';
import { realDisk, statIfThere, writeAtomically } from '../../../system/disk.ts';
import { quoteForShell } from '../../../text.ts';
import { count } from '../../../units.ts';
import { printJson } from '../../output.ts';
import { refuseUnwritable } from '../../result-file.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, type Command, type ExitStatus, type OptionSpec, readText } from '../../spec.ts';
import { formatImport } from '../../views/import-view.ts';

/* `orch import SOURCE FILE`: from another tracker's issues to a plan. */

const options: readonly OptionSpec[] = [
  { flags: '-o, --output <file>', description: 'write the plan to this file instead of standard output' },
  { flags: '--force', description: 'replace the file if it exists' },
  {
    flags: '--allow-loss',
    description: 'write the plan even if issues or dependencies have no place in it',
  },
];

const convoyOption: OptionSpec = {
  flags: '--convoy <id>',
  description: 'take only this convoy and what its members need',
};

const exits =
  'Exits 3 and writes nothing if an issue or a dependency that affects what runs would be lost; the report names each.';

function defineImport(
  source: ImportSource,
  about: Pick<Command, 'summary' | 'description' | 'examples'>,
  file: string,
) {
  const hasConvoys = source === 'gastown' || source === 'gascity';
  return defineCommand({
    ...about,
    description: `${about.description} ${exits}`,
    argument: { name: 'file', required: true, description: file },
    options: [...options, ...(hasConvoys ? [convoyOption] : [])],
    run: (context, call) => runImport(context, source, call),
  });
}

export const commands: { readonly [source: string]: Command } = {
  beads: defineImport(
    'beads',
    {
      summary: 'an export of Beads',
      description: 'Turn the issues of a Beads export into a plan to review.',
      examples: [
        'bd export --all | orch import beads - -o plan.yaml',
        'orch import beads .beads/issues.jsonl',
      ],
    },
    'the output of bd export --all, a folder with .beads in it, or - for standard input',
  ),
  gastown: defineImport(
    'gastown',
    {
      summary: 'the town and rigs of Gas Town',
      description: "Turn the issues of a Gas Town's exports, town and rigs, into a plan to review.",
      examples: ['orch import gastown ~/gt -o plan.yaml', 'orch import gastown ~/gt --convoy hq-cv-abc'],
    },
    'the folder of the town, or one export',
  ),
  gascity: defineImport(
    'gascity',
    {
      summary: 'the beads of Gas City',
      description: "Turn the issues of a Gas City's exports into a plan to review.",
      examples: ['orch import gascity ~/city -o plan.yaml'],
    },
    'the folder of the city, or one export',
  ),
  github: defineImport(
    'github',
    {
      summary: 'issues of GitHub',
      description:
        'Turn the output of gh issue list --json into a plan to review. Task lists group; "blocked by #12" and "depends on #12" at the start of a line are dependencies.',
      examples: [
        'gh issue list --state all --limit 1000 --json number,title,body,labels,state,milestone,url | orch import github -',
      ],
    },
    'the JSON that gh printed, or - for standard input',
  ),
};

async function runImport(context: Context, source: ImportSource, call: Call): Promise<ExitStatus> {
  const { out, json, cwd } = context;
  const file = call.argument ?? '';
  const output = readText(call, 'output');
  if (output !== undefined) refuseExisting(cwd, output, call.options.force === true);
  const imported = await importPlan({
    source,
    input: readInput(cwd, file, source),
    convoy: readText(call, 'convoy'),
    allowLoss: call.options['allow-loss'] === true,
  });
  const { plan, report } = imported;
  if (plan !== null && output !== undefined)
    await writeAtomically({ disk: realDisk, random: realRandom }, resolve(cwd, output), plan);
  if (json) printJson(out, imported);
  else for (const line of formatImport(out, imported)) out.inform(line);
  if (plan === null) throw incompleteImport(report, repeatCommand(context));
  if (json) return;
  if (output === undefined) out.print(plan.trimEnd());
  else out.inform(describeWritten(imported, output));
  return;
}

function describeWritten({ tasks }: ImportedPlan, output: string): string {
  return `Wrote ${output} with ${count(tasks.length, 'task')}. Review it before agents work on it.`;
}

/** The same command with --allow-loss. */
function repeatCommand({ argv }: Context): string {
  return quoteForShell(['orch', ...argv, '--allow-loss']);
}

function readInput(cwd: string, file: string, source: ImportSource): ImportInput {
  if (file !== '-') return { kind: 'path', path: resolve(cwd, file), shown: file };
  if (source === 'gastown' || source === 'gascity')
    throw new OrchError('USAGE', `orch import ${source} reads a folder, not standard input`, {
      hint: 'For one export, try: orch import beads -',
    });
  return { kind: 'bytes', bytes: readFileSync(0) };
}

function refuseExisting(cwd: string, output: string, force: boolean): void {
  refuseUnwritable(cwd, output, '--output');
  if (force || statIfThere(resolve(cwd, output)) === null) return;
  throw new OrchError('USAGE', `${output} exists already`, {
    hint: 'Name another file, or add --force to replace it. Nothing was written.',
  });
}
