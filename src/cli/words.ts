/** The words of a call that are neither global options nor their values: the command, its subcommand, arguments. */
export function wordsOf(argv: readonly string[]): string[] {
  const takesValue = (word: string | undefined) => word === '-C' || word === '--repo';
  return argv.filter((word, index) => !word.startsWith('-') && !takesValue(argv[index - 1]));
}
