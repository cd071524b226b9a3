import { OrchError } from '../errors.ts';
import type { Target } from './init-facts.ts';

/** A file that becomes another: null before it is made, null after it is removed. */
export type FileChange = Pick<Target, 'path' | 'name' | 'ownsFolder'> & {
  readonly before: string | null;
  readonly after: string | null;
  /** What that means, in a few words. */
  readonly meaning: string;
};

export function change(target: Target, after: string | null, meaning: string): FileChange {
  const { path, name, ownsFolder, text, obstacle } = target;
  if (obstacle !== null && after !== text)
    throw new OrchError('CONFIG_INVALID', `${name} cannot be changed: ${obstacle}; nothing was changed`, {
      hint: 'Make it a file that you can write, or leave the agent out: --no-claude, --no-codex',
      data: { path, problem: obstacle },
    });
  return { path, name, ownsFolder, before: text, after, meaning };
}
