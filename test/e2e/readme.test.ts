import { expect, it } from 'vitest';
import {
  documents,
  isUpdate,
  makeStage,
  normalize,
  parseSteps,
  readDocument,
  type Step,
  updateDocument,
} from '../support/documents.ts';

type Shown = Extract<Step, { readonly kind: 'shown' }>;

/** A command and orch print at the same time, in any order. */
function sortLines(text: string): string {
  return text.split('\n').sort().join('\n');
}

it.each(documents)(
  'the commands in %s print what it shows',
  (path) => {
    const text = readDocument(path);
    const stage = makeStage();
    const ran: (Shown & { readonly printed: string })[] = [];
    let isOld = false;
    for (const step of parseSteps(text)) {
      if (step.kind === 'hidden') stage.run(step.command);
      else if (step.kind === 'file') stage.write(step.path, step.content);
      else if (step.isRun) {
        const { command, output } = step;
        const printed = stage.run(command);
        const order = command.includes(' -- ') ? sortLines : (lines: string) => lines;
        const [shown, now] = [output, printed].map((lines) => order(normalize(lines)));
        if (!isUpdate) expect(`$ ${command}\n${now}`).toBe(`$ ${command}\n${shown}`);
        isOld ||= now !== shown;
        ran.push({ ...step, printed });
      }
    }
    if (isOld) updateDocument(path, replaceOutputs(text, ran));
  },
  240_000,
);

/** Puts in what the commands printed now; all of it, so that ids are the same from block to block. */
function replaceOutputs(text: string, ran: readonly (Shown & { readonly printed: string })[]): string {
  let updated = '';
  let done = 0;
  for (const { output, from, to, printed } of ran) {
    // The empty line before the next command stays.
    const gap = output.trim() === '' ? output : (/\n*$/.exec(output)?.[0].slice(1) ?? '');
    updated += text.slice(done, from) + printed.trimEnd().replace(/(.)$/, '$1\n') + gap;
    done = to;
  }
  return updated + text.slice(done);
}
