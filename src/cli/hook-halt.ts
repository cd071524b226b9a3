import type { HookCall } from '../integration/agent-event.ts';
import { haltCodex } from '../integration/codex-halt.ts';
import type { Orch } from '../orch.ts';
import { userFolders } from '../system/caller.ts';

/** Ends the turn of a Codex that must not go on, where its answer alone would not. All is saved by then. */
export async function haltTurn(
  orch: Orch,
  { agentSession: thread, turn, event }: HookCall,
  { pid, reason }: { readonly pid: number; readonly reason: string },
): Promise<void> {
  if (event.kind !== 'before_tool' && event.kind !== 'tool') return;
  // Codex ends its hooks together with its turn, so this is said before.
  orch.report(`ending the turn of codex (conversation ${thread}). ${reason}`);
  const how = await haltCodex({ pid, codexHome: userFolders().codexHome, thread, turn });
  if (how === null) orch.report(`codex (conversation ${thread}) could not be stopped: its tools are denied`);
}
