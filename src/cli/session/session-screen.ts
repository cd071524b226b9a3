import {
  type CodeOffer,
  formatBaselineResult,
  type Orch,
  type SignalWatch,
  type SuperviseEvent,
} from '../../index.ts';
import { askYesNo, canAsk } from '../confirm.ts';
import { printJson, writeTo } from '../output.ts';
import type { Context } from '../run-command.ts';
import type { Call } from '../spec.ts';
import { showDone } from '../views/restore-view.ts';
import { openLiveLine, readFigures } from './live-line.ts';
import { showEvent, showOffer, showProblem, showStart } from './session-lines.ts';

/** Shows a supervised session on the terminal. */
export type SessionScreen = {
  onEvent(event: SuperviseEvent): void;
  chooseCode(offer: CodeOffer): Promise<boolean>;
  close(): void;
};

export function openSessionScreen(
  { out, json }: Context,
  call: Call,
  clock: Orch['clock'],
  signals: SignalWatch,
): SessionScreen {
  const hasCommand = call.rest.length > 0;
  const isTerminal = process.stderr.isTTY === true;
  // The command may draw on the terminal, so orch prints only what matters.
  const isShared = hasCommand && process.stdin.isTTY === true && isTerminal;
  const line =
    json || out.isQuiet || hasCommand || !isTerminal
      ? null
      : openLiveLine(
          (text) => writeTo(2, text),
          () => process.stderr.columns || 80,
        );
  let session = { number: 0, startedAt: clock.now() };
  /** Repeated by the call that started this process in the background. */
  const said: string[] = [];
  const inform = (text: string) => {
    line?.clear();
    out.inform(text);
  };
  const informAtStart = (text: string, isDim = false) => {
    said.push(`      ${text}`);
    inform(isDim ? out.paint('dim', `      ${text}`) : `      ${text}`);
  };

  return {
    async chooseCode(offer) {
      const { lines, question, unrestored, others, enterIs } = showOffer(offer);
      for (const text of lines) informAtStart(text);
      const isAsked = question !== null && !json && canAsk();
      const isChosen = isAsked && (await askYesNo(`      ${question}`, signals.aborted, { enterIs }));
      if (!isChosen) for (const text of unrestored) informAtStart(text);
      for (const text of others) informAtStart(text);
      return isChosen;
    },
    onEvent(event) {
      switch (event.kind) {
        case 'started':
          session = { number: event.number, startedAt: clock.now() };
          if (json) return;
          for (const text of showStart(out, event)) inform(text);
          if (event.brief !== null && !hasCommand) out.print(event.brief);
          return;
        case 'code_restored':
          for (const text of showDone(event.restored)) informAtStart(text);
          return;
        case 'code_unavailable':
          for (const text of showProblem(event.offer, event.problem)) informAtStart(text);
          return;
        case 'gates': {
          const names = event.names.join(', ');
          const skipped = `Gates (${names}) are skipped until you approve them: orch baseline`;
          if (!json) informAtStart(event.areSkipped ? skipped : `Gates: ${names}.`, true);
          return;
        }
        case 'baseline': {
          const isWanted = !isShared || !event.result.passed || call.options['require-green'] === true;
          if (isWanted) inform(formatBaselineResult(event.result));
          return;
        }
        case 'ready': {
          const { kind: _, brief, ...rest } = event;
          const document = { ...rest, baseline: null, brief };
          if (json) printJson(out, document);
          if (process.connected) process.send?.({ started: document, said }, () => process.disconnect?.());
          return;
        }
        case 'conversation': {
          const { agent, unseen, continued } = event;
          if (unseen !== null) inform(`      ${agent}: ${unseen}, so only hooks can report its cost.`);
          if (continued !== null)
            inform(`      ${agent} continues its conversation ${continued.slice(0, 8)}.`);
          else if (event.isBriefLeftOut)
            inform(
              '      The brief is in the file named by ORCH_BRIEF_FILE: orch cannot pass it to this command.',
            );
          return;
        }
        case 'look':
          line?.show(readFigures(event, session, clock.now()));
          return;
        default: {
          const text = showEvent(out, event, clock.now());
          if (text !== null && (!isShared || event.kind === 'warning' || event.kind === 'waiting'))
            inform(text);
        }
      }
    },
    close: () => line?.clear(),
  };
}
