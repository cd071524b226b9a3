const kills = new Set<() => void>();

function killAll(): void {
  for (const kill of kills) kill();
}

/**
 * Has something killed should this process end before it did so itself, be it by an error nobody caught. What is called
 * cannot wait for anything. Returns what takes it back.
 */
export function killAtLast(kill: () => void): () => void {
  if (kills.size === 0) {
    process.on('uncaughtExceptionMonitor', killAll); // comes before anything is printed
    process.on('exit', killAll);
  }
  kills.add(kill);
  return () => {
    kills.delete(kill);
    if (kills.size > 0) return;
    process.off('uncaughtExceptionMonitor', killAll);
    process.off('exit', killAll);
  };
}
