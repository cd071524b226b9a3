import { basename, join } from 'node:path';
import { number, readChecked, withFields } from '../checks.ts';
import { readArguments, signalAbove } from '../system/process.ts';
import { askOverSocket } from '../system/web-socket.ts';
import type { Millis } from '../types.ts';

/* Codex goes on whatever a hook answers: a denied tool is one more request to its model. So its turn is ended from outside. */

export type CodexTurn = {
  /** The process that called the hook. */
  readonly pid: number;
  readonly codexHome: string;
  readonly thread: string;
  readonly turn: string | null;
};

/** A hook has 30 seconds; a server that does not answer at all must not take them. */
const patience: Millis = 3_000;

/**
 * Ends a turn of Codex as its user does with Esc or Ctrl+C, and says how; null where that is not possible. In a terminal
 * the turn is done by a server that all of the user's conversations share: it is asked, never signalled.
 */
export async function haltCodex({ pid, codexHome, thread, turn }: CodexTurn): Promise<string | null> {
  const words = readArguments(pid);
  if (words === null) return null;
  // A hook that is called by hand comes from whatever the user's shell runs in.
  const isCodex = basename(words[0] ?? '').includes('codex');
  if (!words.includes('app-server')) return isCodex && signalAbove(pid, 'SIGINT') ? 'SIGINT' : null;
  if (turn === null) return null;
  const requests = [
    { method: 'initialize', params: { clientInfo: { name: 'orch', title: 'orch', version: '1' } } },
    { method: 'turn/interrupt', params: { threadId: thread, turnId: turn } },
  ].map((request, id) => JSON.stringify({ id, ...request }));
  const path = join(codexHome, 'app-server-control', 'app-server-control.sock');
  const isAnswer = (text: string, id: number) => readChecked(text, isMessage)?.id === id;
  const [, interrupted = ''] = await askOverSocket(path, requests, isAnswer, patience);
  return interrupted.includes('"result"') ? 'interrupted' : null;
}

const isMessage = withFields<{ readonly id: number }>({ id: number });
