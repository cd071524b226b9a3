import { isOrchError } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Orch } from '../orch.ts';
import type { Started } from '../session/lifecycle.ts';
import { isNothing, restore } from '../session/restore.ts';
import { type Proposal, proposeRestore } from '../session/restore-plan.ts';
import { findCode } from '../session/restore-target.ts';
import { count } from '../units.ts';
import { askYesNo, canAsk } from './ask.ts';
import type { Context } from './run.ts';

/**
 * A session that goes on from an older checkpoint may want its code too: somebody at the terminal is asked, everybody
 * else is told the command. The session goes on either way.
 */
export async function offerCode(
  { out }: Context,
  orch: Orch,
  { target, handover }: Started,
  aborted: AbortSignal,
): Promise<void> {
  const document = handover?.document;
  if (!document) return;
  const tell = (text: string) => out.tell(`      ${text}`);
  try {
    const proposal = await proposeRestore(orch, await findCode(orch, target.epic, document.id));
    const { plan } = proposal;
    if (isNothing(plan)) return tell(`Your files are as ckpt ${document.seq} has them.`);
    const command = `orch restore ${document.seq} -e ${target.epic}`;
    if (!canAsk()) return tell(`Your files stay as they are. That code: ${command}`);
    const files = count(plan.write.size + plan.remove.size, 'file');
    const state = (await isClean(orch, proposal)) ? 'your tree is clean' : 'your changes are saved first';
    const question = `      Its code is not here: restore the snapshot of ckpt ${document.seq} (${files}; ${state})?`;
    if (!(await askYesNo(question, aborted, { enterIs: 'yes' })))
      return tell(`Your files stay as they are. ${command}`);
    const { saved } = await restore(orch, proposal.target);
    tell(`restored. What was there is ckpt ${saved.seq}. Undo: orch restore --undo`);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    tell(`Your files stay as they are: ${error.message}`);
  }
}

/** Is everything on disk as HEAD has it? */
async function isClean({ git }: Orch, { present }: Proposal): Promise<boolean> {
  const { commit } = await git.readHead();
  return commit !== null && (await readCommit(git, commit)).tree === present.tree;
}
