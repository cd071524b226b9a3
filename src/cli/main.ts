import fs from 'node:fs';

declare const __ORCH_VERSION__: string;

type Group = { run(argv: readonly string[]): Promise<number> };

/** The commands and the bundle each is in. A command that is not here is looked for, and suggested, in all of them. */
const groups: { readonly [command: string]: () => Promise<Group> } = {
  checkpoint: () => import('./checkpoint.ts'),
};

/** The first word that is neither a global option nor its value. */
function commandOf(argv: readonly string[]): string | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (word === '-C' || word === '--repo') index++;
    else if (!word.startsWith('-')) return word;
  }
  return undefined;
}

async function main(argv: readonly string[]): Promise<void> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    fs.writeSync(1, `${__ORCH_VERSION__}\n`);
    return;
  }
  const command = commandOf(argv) ?? '';
  const load = Object.hasOwn(groups, command) ? groups[command] : undefined;
  const group = await (load ?? (() => import('./all.ts')))();
  process.exitCode = await group.run(argv);
}

void main(process.argv.slice(2));
