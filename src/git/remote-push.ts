import { cleanLine } from '../text.ts';
import { serverWords } from './remote-error.ts';

/** What came of sending a commit to a ref. */
export type PushedRef = {
  readonly ref: string;
  /**
   * `moved`: it has something there that is not here. `refused`: the server would not have it. `damaged`: git here could
   * not read it.
   */
  readonly how: 'done' | 'moved' | 'refused' | 'damaged';
  /** Why not, in git's and the server's words. */
  readonly reason: string | null;
};

/** The ref is not where it was a moment ago, or somebody is just moving it. */
const moved =
  /fetch first|non-fast-forward|needs force|stale info|cannot lock ref|failed to (lock|update)|incorrect old value|already exists/;

/** Reads the lines of `git push --porcelain`. Of several addresses the worst answer counts. */
export function parsePushed(stdout: string, stderr: string): ReadonlyMap<string, PushedRef> {
  const found = new Map<string, PushedRef>();
  for (const line of stdout.split('\n')) {
    const [flag, spec, summary = ''] = line.split('\t');
    const ref = spec?.slice(spec.indexOf(':') + 1);
    if (flag?.length !== 1 || ref === undefined) continue;
    const result = readResult(flag, ref, summary, stderr);
    if ((found.get(ref)?.how ?? 'done') === 'done') found.set(ref, result);
  }
  return found;
}

function readResult(flag: string, ref: string, summary: string, stderr: string): PushedRef {
  if (flag !== '!') return { ref, how: 'done', reason: null };
  const said = summary.trimEnd();
  const why = said.endsWith(')') && said.includes('(') ? said.slice(said.indexOf('(') + 1, -1) : summary;
  if (moved.test(why)) return { ref, how: 'moved', reason: cleanLine(why, 500) };
  const words = serverWords(stderr);
  return { ref, how: 'refused', reason: cleanLine(words === null ? why : `${why}: ${words}`, 800) };
}
