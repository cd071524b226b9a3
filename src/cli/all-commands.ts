import { lookUp } from '../keyed.ts';
import { runWithCommander } from './commander.ts';
import { commands, groups, loadCommand } from './commands.ts';
import { runCommand, showError } from './run-command.ts';
import type { NamedSpec, Spec } from './spec.ts';

/** Loads every command, in the order of the help. */
export async function loadAll(): Promise<Spec[]> {
  const specs: Spec[] = [];
  const below: { [group: string]: NamedSpec[] } = {};
  for (const [heading, paths] of Object.entries(commands)) {
    for (const [path, load] of Object.entries(paths)) {
      const words = path.split(' ');
      const [first = '', second = first] = words;
      const isShort =
        words.length === 1 &&
        Object.entries(paths).some(([other, loadOther]) => loadOther === load && other.endsWith(` ${path}`));
      const spec = { ...(await loadCommand(load, words)), name: second, heading, isShort };
      const group = words.length > 1 ? lookUp(groups, first) : undefined;
      if (group === undefined) specs.push(spec);
      else if (below[first]) below[first].push(spec);
      else {
        below[first] = [spec];
        specs.push({ ...group, name: first, heading, commands: below[first] });
      }
    }
  }
  return specs;
}

/** Handles help, mistakes, and every call that `parseSimple` does not read. */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    const call = argv.length === 0 ? ['--help'] : argv;
    return await runWithCommander(call, await loadAll(), (spec, globals, read) =>
      runCommand(spec, globals, read, argv),
    );
  } catch (error) {
    return showError(error, argv);
  }
}
