import { listEpics } from '../checkpoint/tip.ts';
import { OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { isDefaultBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { parseEpicId, slugOf } from '../ids.ts';
import type { Random } from '../system/clock.ts';
import type { EpicId } from '../types.ts';

export type EpicChoice = {
  readonly epic: EpicId;
  readonly because: 'given' | 'environment' | 'branch' | 'only one' | 'made up';
};

export type EpicQuestion = {
  /** `--epic` */
  readonly given?: string | undefined;
  /** `ORCH_EPIC` */
  readonly environment?: string | undefined;
  /** May a new epic come of it? */
  readonly create: boolean;
};

type Ports = { readonly git: GitEngine; readonly repository: Repository; readonly random: Random };

/** Which epic a command means: the one named, else the branch's, else the only one there is. */
export async function resolveEpic(ports: Ports, question: EpicQuestion): Promise<EpicChoice> {
  if (question.given !== undefined) return { epic: parseEpicId(question.given), because: 'given' };
  if (question.environment) return { epic: parseEpicId(question.environment), because: 'environment' };
  const { branch } = await ports.git.readHead();
  const named = branch && !isDefaultBranch(ports.repository.commonDir, branch) ? slugOf(branch) : null;
  if (named && question.create) return { epic: named, because: 'branch' };
  const epics = await listEpics(ports.git);
  if (named && epics.includes(named)) return { epic: named, because: 'branch' };
  const [only] = epics;
  if (only !== undefined && epics.length === 1) return { epic: only, because: 'only one' };
  if (question.create) return { epic: parseEpicId(`epic-${ports.random.id(6)}`), because: 'made up' };
  if (epics.length === 0) {
    throw new OrchError('EPIC_NOT_FOUND', 'there are no checkpoints in this repository yet', {
      hint: 'Make the first one with: orch checkpoint create --epic my-feature',
    });
  }
  throw new OrchError('USAGE', `which epic? There are ${epics.length}: ${epics.slice(0, 20).join(', ')}`, {
    hint: `Name one, such as: --epic ${only}`,
    data: { epics },
  });
}
