import type { Checkpoint } from '../checkpoint/list.ts';
import { nameAlone } from '../checkpoint/names.ts';
import { isOrchError } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Orch } from '../orch.ts';
import type { LeftCode } from '../session/left-code.ts';
import type { Target } from '../session/record.ts';
import { isNothing } from '../session/restore.ts';
import { readSetting } from '../session/restore-facts.ts';
import type { Proposal } from '../session/restore-plan.ts';
import { bringCode, proposeCode, startFromCode } from '../session/start-code.ts';
import { count } from '../units.ts';
import { askYesNo, canAsk } from './ask.ts';
import { showDone, showHead } from './restore-view.ts';
import type { Context } from './run.ts';

/**
 * A session that goes on from an older checkpoint, or from another clone's, may want its code too: somebody at the
 * terminal is asked, everybody else is told the command. The session goes on either way.
 */
export async function offerCode(
  context: Context,
  orch: Orch,
  session: Target,
  [newest, ...others]: readonly LeftCode[],
  aborted: AbortSignal,
): Promise<void> {
  const tell = (text: string) => context.out.tell(`      ${text}`);
  if (newest === undefined) return;
  const { epicId, sessionNumber, seq } = newest.checkpoint;
  if (others.length > 0) {
    const names = others.map(({ checkpoint }) => `session ${checkpoint.sessionNumber}`).join(', ');
    tell(`Session ${sessionNumber} and ${names} worked at the same time, each on its own code.`);
    tell(`The newest is ckpt ${seq} of session ${sessionNumber}${newest.isOwn ? ', which is yours' : ''}.`);
  }
  if (!newest.isOwn) await offerOne(context, orch, session, newest.checkpoint, aborted, others.length > 0);
  for (const { checkpoint } of others) {
    const command = `orch diff ${await nameAlone(orch, checkpoint)} -e ${epicId}`;
    const isKept = await bringCode(orch, checkpoint);
    const how = isKept ? `compare it with your files: ${command}` : `it is not in this clone. ${fetchFirst}`;
    tell(`Session ${checkpoint.sessionNumber} left ckpt ${checkpoint.seq}: ${how}`);
  }
}

const fetchFirst = 'Run orch sync in the clone that saved it, then here.';

async function offerOne(
  { out, json }: Context,
  orch: Orch,
  session: Target,
  code: Checkpoint,
  aborted: AbortSignal,
  isOneOfSeveral: boolean,
): Promise<void> {
  const tell = (text: string) => out.tell(`      ${text}`);
  const command = `orch restore ${await nameAlone(orch, code)} -e ${code.epicId}`;
  try {
    const proposal = await proposeCode(orch, code);
    const { plan } = proposal;
    if (isNothing(plan)) return tell(`Your files are as ckpt ${code.seq} has them.`);
    const files = count(plan.write.size + plan.remove.size, 'file');
    const stays = `Your files stay as they are, not as ckpt ${code.seq} has them (${files}). To get its code: ${command}`;
    // Files alone do not make it the branch they were worked on.
    const setting = await readSetting(orch, proposal.target, session.session);
    const isElsewhere = setting.head.commit !== setting.earlier?.commit;
    for (const line of isElsewhere ? showHead(proposal.target, setting) : []) tell(line.trim());
    if (json || !canAsk()) return tell(stays);
    const state = (await isClean(orch, proposal)) ? 'your tree is clean' : 'your changes are saved first';
    const question = `      Its code is not here: restore the snapshot of ckpt ${code.seq} (${files}; ${state})?`;
    const enterIs = isOneOfSeveral ? 'no' : 'yes';
    if (!(await askYesNo(question, aborted, { enterIs }))) return tell(stays);
    for (const line of showDone(await startFromCode(orch, session, proposal, code.snapshot))) tell(line);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    tell(`Your files stay as they are: ${error.message}`);
    const isMissing = error.code === 'INTEGRITY' && error.data.snapshot !== undefined;
    if (isMissing) tell(`${fetchFirst} To get its code: ${command}`);
    else if (error.hint) tell(error.hint);
  }
}

/** Is everything on disk as HEAD has it? */
async function isClean({ git }: Orch, { present }: Proposal): Promise<boolean> {
  const { commit } = await git.readHead();
  return commit !== null && (await readCommit(git, commit)).tree === present.tree;
}
