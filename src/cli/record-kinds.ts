import { nameLeftOut } from '../checkpoint/not-saved.ts';
import { emptyRow } from '../cost/ledger.ts';
import { correctableIn } from '../cost/money.ts';
import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { refuseCorrection } from '../session/budget.ts';
import type { SessionChanges } from '../session/changes.ts';
import * as facts from '../session/facts.ts';
import { locateFile } from '../session/file-path.ts';
import { readCurrent } from '../state/current.ts';
import { realPath } from '../system/files.ts';
import { cleanLine } from '../text.ts';
import { type Kind, textArgument, textKinds } from './record-texts.ts';
import { type Call, textOf } from './spec.ts';

/** A whole number from 0 up, where the option was given. */
function numberOf(call: Call, name: string): number | undefined {
  const given = textOf(call, name);
  if (given === undefined) return undefined;
  if (/^\d{1,12}$/.test(given)) return Number(given);
  throw new OrchError('USAGE', `--${name} takes a whole number, not ${JSON.stringify(given.slice(0, 80))}`, {
    hint: `Try --${name} 1`,
  });
}

/** One of several words, where the option was given. */
function choiceOf<T extends string>(call: Call, name: string, choices: readonly T[]): T | undefined {
  const given = textOf(call, name);
  const found = choices.find((choice) => choice === given);
  if (given === undefined || found !== undefined) return found;
  throw new OrchError('USAGE', `--${name} can be ${choices.join(', ')}, not ${JSON.stringify(given)}`, {
    hint: `Try --${name} ${choices[0]}`,
  });
}

/** Everything that can be recorded. */
export const kinds: readonly Kind[] = [
  ...textKinds,
  {
    name: 'file',
    description:
      'Record files that changed or should be read; without PATH, what changed since the session began.',
    argument: { name: 'path', several: true, description: 'one or more files' },
    options: [
      { flags: '--change <kind>', description: 'added, modified (the default), deleted or read' },
      { flags: '--priority <n>', description: '1 is to be read first' },
      { flags: '--why <text>', description: 'why it matters' },
    ],
    examples: ['orch record file', 'orch record file src/auth/login.ts --priority 1 --why "The entry point"'],
    makeFacts: async ({ orch, call, session, cwd }) => {
      const change = choiceOf(call, 'change', ['added', 'modified', 'deleted', 'read'] as const);
      const priority = numberOf(call, 'priority') ?? null;
      const why = textOf(call, 'why') ?? null;
      if (call.rest.length > 0) {
        const folder = realPath(cwd);
        const paths = call.rest.map((path) => locateFile(path, folder, orch.repository.worktree));
        return paths.map((path) => facts.fileFact(path, { ...(change && { change }), priority, why }));
      }
      if (change !== undefined)
        throw new OrchError('USAGE', `--change ${change} needs the files it is about`, {
          hint: `Name them: orch record file PATH --change ${change}`,
        });
      const { listSessionChanges } = await import('../session/changes.ts');
      const { changes, leftOut } = await listSessionChanges(orch, session);
      if (changes.length === 0 && leftOut.length > 0) throw cannotCompare(leftOut);
      return changes.map(({ path, ...found }) => facts.fileFact(path, { ...found, priority, why }));
    },
  },
  {
    name: 'issue',
    description: 'Record an issue, or what became of it.',
    argument: { ...textArgument, name: 'id', description: 'its id, then its title' },
    options: [
      { flags: '--status <status>', description: 'open, in_progress, done or deferred' },
      { flags: '--severity <severity>', description: 'critical, high, medium or low' },
      { flags: '--location <place>', description: 'where it is' },
    ],
    examples: [
      'orch record issue T3 "Redirect after login" --status in_progress',
      'orch record issue T3 --status done',
    ],
    makeFacts: async ({ call, readState }) => {
      const [id = '', ...title] = call.rest;
      const location = textOf(call, 'location');
      const status = choiceOf(call, 'status', ['open', 'in_progress', 'done', 'deferred'] as const);
      const severity = choiceOf(call, 'severity', ['critical', 'high', 'medium', 'low'] as const);
      return facts.issueFact(await readState(), id, {
        ...(title.length > 0 && { title: title.join(' ') }),
        ...(status && { status }),
        ...(severity && { severity }),
        ...(location !== undefined && { location }),
      });
    },
  },
  {
    name: 'task',
    description: 'Record what is being worked on, or that it is done.',
    argument: {
      name: 'text',
      several: true,
      description: 'the task; with --done, the current one by default',
    },
    options: [{ flags: '--done', description: 'it is done' }],
    examples: ['orch record task "T3: redirect after login"', 'orch record task --done'],
    makeFacts: async ({ call, text, readState }) => {
      const isDone = call.options.done === true;
      const current = text === '' && isDone ? readCurrent(await readState(), 'currentTask') : null;
      if (text === '' && isDone && current === null)
        throw new OrchError('USAGE', 'no task is being worked on', {
          hint: 'Say which one is done: orch record task "T3: redirect after login" --done',
        });
      return facts.taskFact(current?.text ?? text, isDone);
    },
  },
  {
    name: 'test',
    description: 'Record what the tests said.',
    argument: { name: 'failing', several: true, description: 'the names of failing tests' },
    options: [
      { flags: '--passed <n>', description: 'how many passed' },
      { flags: '--failed <n>', description: 'how many failed' },
      { flags: '--total <n>', description: 'how many there are' },
    ],
    examples: [
      'orch record test --passed 142',
      'orch record test --passed 141 --failed 1 "login redirects to /home"',
    ],
    makeFacts: ({ call }) => {
      const [passed, total] = [numberOf(call, 'passed') ?? null, numberOf(call, 'total') ?? null];
      const failed = numberOf(call, 'failed') ?? (call.rest.length > 0 ? call.rest.length : null);
      if (passed === null && failed === null && total === null)
        throw new OrchError('USAGE', 'what did the tests say?', {
          hint: 'Try: orch record test --passed 142 --failed 0',
        });
      const all = total ?? (passed === null || failed === null ? null : passed + failed);
      const status = (failed ?? 0) > 0 ? 'failed' : 'passed';
      return facts.testFact({ status, passed, failed, total: all, failing: call.rest, text: null });
    },
  },
  {
    name: 'cost',
    description: 'Record what was spent, in dollars; it adds up.',
    argument: { name: 'usd', required: true, description: 'dollars, such as 0.25' },
    options: [
      { flags: '-m, --model <name>', description: 'the model it was spent on' },
      { flags: '--input <tokens>', description: 'input tokens' },
      { flags: '--output <tokens>', description: 'output tokens' },
      { flags: '--cache-read <tokens>', description: 'tokens read from the cache' },
      { flags: '--cache-write <tokens>', description: 'tokens written to the cache' },
      { flags: '--correct <usd>', description: 'what was recorded by mistake, and counts no longer' },
    ],
    examples: [
      'orch record cost 0.25',
      'orch record cost 0.25 --model claude-sonnet-4-5 --output 1200',
      'orch record cost 2.50 --correct 250',
    ],
    makeFacts: async ({ call, orch, readState, epic, byAgent }) => {
      const wrong = textOf(call, 'correct');
      const details = {
        model: textOf(call, 'model') ?? null,
        input: numberOf(call, 'input') ?? 0,
        output: numberOf(call, 'output') ?? 0,
        cacheRead: numberOf(call, 'cache-read') ?? 0,
        cacheWrite: numberOf(call, 'cache-write') ?? 0,
      };
      if (wrong === undefined) return facts.costFact(call.argument ?? '', details);
      if (Object.values(details).some(Boolean))
        throw new OrchError('USAGE', '--correct takes no model and no tokens', {
          hint: 'Only costs that were recorded without --model can be corrected: orch record cost RIGHT --correct WRONG',
        });
      const state = await readState();
      refuseCorrection(epic, state, { byAgent, home: orch.home });
      const row = lookUp(state.ledger, await orch.identifyWriter())?.value ?? emptyRow;
      return facts.correctionFact(call.argument ?? '', wrong, correctableIn(row));
    },
  },
];

/** Files that are in no snapshot may have changed or not: it is for who knows to say so. */
function cannotCompare(leftOut: SessionChanges['leftOut']): OrchError {
  const named = nameLeftOut({ leftOut: [...leftOut] }, (path, reason) => `${cleanLine(path)} (${reason})`);
  return new OrchError('USAGE', `no other file has changed, and these are not compared: ${named}`, {
    hint: 'If you changed one of them, name it: orch record file PATH',
    data: { leftOut },
  });
}
