import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from '../../../src/checkpoint/document/document.ts';
import { findCommand } from '../../../src/cli/commands.ts';
import { makeShowable, type Output } from '../../../src/cli/output.ts';
import type { Context } from '../../../src/cli/run-command.ts';
import { parseSimple } from '../../../src/cli/spec.ts';
import { isOrchError } from '../../../src/errors.ts';
import { parseWriterId } from '../../../src/ids.ts';
import { openOrch } from '../../../src/orch.ts';
import { must, mustBeShowable, type Target, type Verdict } from '../target.ts';
import { plant, samples, seal } from './documents.ts';
import { at } from './epic.ts';
import { scratch } from './scratch.ts';

/** Those that only read an epic. */
const calls = (epic: string): readonly (readonly string[])[] => [
  ['status'],
  ['log', epic],
  ['brief', '-e', epic],
  ['session', 'show', '-e', epic],
  ['session', 'status', '-e', epic],
  ['session', 'list'],
  ['checkpoint', 'list', '-e', epic],
  ['checkpoint', 'show', 'latest', '-e', epic],
  ['checkpoint', 'verify', '-e', epic],
  ['run', '--list', '-e', epic],
  ['cost', 'report', '-e', epic],
];

const folder = join(scratch, 'repository');
let isMade = false;

function makeRepository(): void {
  if (isMade) return;
  isMade = true;
  mkdirSync(folder, { recursive: true });
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', folder]);
}

export const commandsTarget: Target = {
  name: 'commands',
  weight: 8,
  form: 'json',
  samples,
  run: async (input, random): Promise<Verdict> => {
    makeRepository();
    const bytes = seal(input);
    const document = await parseDocument(bytes, 'it');
    const { git } = await plant(document, bytes);
    // A few of them, so that there is time for many documents.
    const all = calls(document.epicId);
    for (const argv of [random.pick(all), random.pick(all), random.pick(all)]) {
      const json = random.chance(0.3);
      const found = findCommand(argv);
      const command = await found?.load();
      const simple = found && command ? parseSimple(argv, found.place, command) : null;
      must(simple !== null && command !== undefined, `${argv.join(' ')} is a call`);
      const printed: string[] = [];
      const out: Output = {
        print: (text) => printed.push(text),
        inform: (text) => printed.push(text),
        paint: (_, text) => text,
        columns: 80,
        isQuiet: false,
      };
      const clock = { now: () => at + 3_600_000 };
      const settings = {
        epic: undefined,
        session: undefined,
        byAgent: false,
        trusted: false,
        valuesFile: undefined,
        background: undefined,
        messages: undefined,
        hidden: [],
        traced: undefined,
      };
      const context: Context = {
        out,
        json,
        settings,
        argv,
        cwd: folder,
        withOrch: async (work) => {
          const writer = parseWriterId('w-test');
          const orch = await openOrch({
            cwd: folder,
            engine: 'isomorphic',
            writer,
            clock,
            wrapEngine: () => ({ ...git, name: 'memory' }),
          });
          try {
            return await work(orch);
          } finally {
            orch.close();
          }
        },
      };
      try {
        await command.run(context, simple.call);
      } catch (error) {
        if (!isOrchError(error) || error.code === 'INTERNAL') throw error;
        mustBeShowable(makeShowable(error.message), 'an error');
      }
      const shown = makeShowable(printed.join('\n'));
      mustBeShowable(shown, argv.join(' '));
      if (json) for (const text of printed.filter((each) => /^\s*[{[]/.test(each))) JSON.parse(text);
      else must(!/^[>\s]*FORGED/m.test(shown), `${argv.join(' ')}: a text begins no line`);
      must(
        !/NaN|undefined|\[object/.test(shown) || /NaN|undefined|\[object/.test(input.toString()),
        `${argv.join(' ')} shows ${shown}`,
      );
    }
    return 'accepted';
  },
};
