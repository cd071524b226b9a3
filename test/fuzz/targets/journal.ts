import { composeCheckpoints } from '../../../src/checkpoint/compose.ts';
import { nothing } from '../../../src/checkpoint/read-base.ts';
import { noShardEdits } from '../../../src/checkpoint/shards/edit-shards.ts';
import { hash } from '../../../src/digest.ts';
import { parseSessionId, parseWriterId } from '../../../src/ids.ts';
import { formatGroup, formatRecord, parseEvents, parseHeader } from '../../../src/journal/journal-format.ts';
import { foldAll } from '../../../src/state/fold.ts';
import { emptyState } from '../../../src/state/lists.ts';
import { must, type Target, type Verdict } from '../target.ts';
import { mustBeMoney, mustBeReadable } from './documents.ts';
import { at, draftOf, epic, eventsOf, facts } from './epic.ts';

const [session, writer] = [parseSessionId('sess-abcd'), parseWriterId('w-test')];
const header = { format: 1, epic, session, writer };
const records = eventsOf(writer, session, facts).map(({ fact }) => ({ at, fact }));

/** Journals without their checksums, which are added once they are mutated. */
const samples = [
  formatRecord(header) + records.map(formatRecord).join(''),
  formatRecord(header) + formatGroup(records.slice(0, 4)) + formatGroup(records.slice(4, 9)),
].map((text) => Buffer.from(text.replace(/\{"sum":"[0-9a-f]{8}",/g, '{')));

/** Gives lines right checksums, as an agent could that writes into its own journal. */
function seal(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      if (!line.startsWith('{')) return line;
      const body = line.slice(1);
      return `{"sum":"${hash('sha256', body).slice(0, 8)}",${body}`;
    })
    .join('\n');
}

export const journalTarget: Target = {
  name: 'journal',
  weight: 6,
  form: 'lines',
  samples,
  run: async (input): Promise<Verdict> => {
    const sealed = Buffer.from(seal(input.toString('utf8')));
    const found = parseHeader(sealed);
    if (found === null) return 'refused';
    const { events, end } = parseEvents(found, sealed, 0);
    must(end <= sealed.length, 'a journal ends where its file does');
    const state = foldAll(emptyState, events);
    mustBeMoney(state);
    const next = composeCheckpoints(
      found.epic,
      nothing,
      draftOf(events, { sessionId: found.session, writer: found.writer }),
      [],
      noShardEdits,
      () => 'abcdef',
    );
    for (const { document, commit } of next) await mustBeReadable(document, commit.message);
    return 'accepted';
  },
};
