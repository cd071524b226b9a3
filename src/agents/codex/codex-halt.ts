import { basename, join } from 'node:path';
import { number, readChecked, withFields } from '../../checks.ts';
import { readArguments, signalAncestor } from '../../system/process/identity.ts';
import { askOverSocket } from '../../system/web-socket.ts';
import type { Millis } from '../../types.ts';

/* Codex continues whatever a hook answers (a denied tool is one more request to its model), so orch ends the turn. */

type CodexTurn = {
  /** The process that called the hook. */
  readonly pid: number;
  readonly codexHome: string;
  readonly thread: string;
  readonly turn: string | null;
};

/** A hook has 30 seconds, and a server that never answers must not use them up. */
const answerTimeout: Millis = 3_000;

/**
 * Ends a turn of Codex as its user would with Esc or Ctrl+C, and returns how; null if that is not possible. In a
 * terminal a server runs the turns of all the user's conversations: it is asked to interrupt, never signalled.
 */
export async function haltCodex({ pid, codexHome, thread, turn }: CodexTurn): Promise<string | null> {
  const words = readArguments(pid);
  if (words === null) return null;
  // If the user calls the hook by hand, the parent process is not Codex and must not be signalled.
  const isCodex = basename(words[0] ?? '').includes('codex');
  if (!words.includes('app-server')) return isCodex && signalAncestor(pid, 'SIGINT') ? 'SIGINT' : null;
  if (turn === null) return null;
  const requests = [
    { method: 'initialize', params: { clientInfo: { name: 'orch', title: 'orch', version: '1' } } },
    { method: 'turn/interrupt', params: { threadId: thread, turnId: turn } },
  ].map((request, id) => JSON.stringify({ id, ...request }));
  const path = join(codexHome, 'app-server-control', 'app-server-control.sock');
  const isAnswer = (text: string, id: number) => readChecked(text, isMessage)?.id === id;
  const [, interrupted = ''] = await askOverSocket(path, requests, isAnswer, answerTimeout);
  return interrupted.includes('"result"') ? 'interrupted' : null;
}

const isMessage = withFields<{ readonly id: number }>({ id: number });
