import type { Checkpoint } from '../checkpoint/list.ts';
import { isOrchError } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Orch } from '../orch.ts';
import type { Target } from '../session/record.ts';
import { isNothing } from '../session/restore.ts';
import { readSetting } from '../session/restore-facts.ts';
import type { Proposal } from '../session/restore-plan.ts';
import { proposeCode, startFromCode } from '../session/start-code.ts';
import { count } from '../units.ts';
import { askYesNo, canAsk } from './ask.ts';
import { showDone, showHead } from './restore-view.ts';
import type { Context } from './run.ts';

/**
 * A session that goes on from an older checkpoint, or from another clone's, may want its code too: somebody at the
 * terminal is asked, everybody else is told the command. The session goes on either way.
 */
export async function offerCode(
  { out, json }: Context,
  orch: Orch,
  session: Target,
  code: Checkpoint,
  aborted: AbortSignal,
): Promise<void> {
  const tell = (text: string) => out.tell(`      ${text}`);
  try {
    const proposal = await proposeCode(orch, code, (await orch.readConfig()).sync.remote);
    const { plan } = proposal;
    if (isNothing(plan)) return tell(`Your files are as ckpt ${code.seq} has them.`);
    const files = count(plan.write.size + plan.remove.size, 'file');
    const command = `orch restore ${code.seq} -e ${code.epicId}`;
    const stays = `Your files stay as they are, not as ckpt ${code.seq} has them (${files}). To get its code: ${command}`;
    // Files alone do not make it the branch they were worked on.
    const setting = await readSetting(orch, proposal.target, session.session);
    const isElsewhere = setting.head.commit !== setting.earlier?.commit;
    for (const line of isElsewhere ? showHead(proposal.target, setting) : []) tell(line.trim());
    if (json || !canAsk()) return tell(stays);
    const state = (await isClean(orch, proposal)) ? 'your tree is clean' : 'your changes are saved first';
    const question = `      Its code is not here: restore the snapshot of ckpt ${code.seq} (${files}; ${state})?`;
    if (!(await askYesNo(question, aborted, { enterIs: 'yes' }))) return tell(stays);
    for (const line of showDone(await startFromCode(orch, session, proposal, code.snapshot))) tell(line);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    tell(`Your files stay as they are: ${error.message}`);
    if (error.hint) tell(error.hint);
  }
}

/** Is everything on disk as HEAD has it? */
async function isClean({ git }: Orch, { present }: Proposal): Promise<boolean> {
  const { commit } = await git.readHead();
  return commit !== null && (await readCommit(git, commit)).tree === present.tree;
}
