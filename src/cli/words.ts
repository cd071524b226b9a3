/** The words of a call that are neither global options nor their values: the command, its subcommand, arguments. */
export function wordsOf(argv: readonly string[]): string[] {
  const takesValue = (word: string | undefined) => word === '-C' || word === '--repo';
  return argv.filter((word, index) => !word.startsWith('-') && !takesValue(argv[index - 1]));
}

/** What is said to orch itself: behind `--` stand other programs' words, and paths. */
export function ownWords(argv: readonly string[]): readonly string[] {
  return argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
}
