// A hook that keeps what it was given, and answers what the test wrote down for the event.
// node record-hook.mjs FOLDER; without a hook event in its input it is the status line.
import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
const input = JSON.parse(readFileSync(0, 'utf8'));
const event = input.hook_event_name ?? 'StatusLine';
const transcriptBytes = statSync(input.transcript_path ?? '', { throwIfNoEntry: false })?.size ?? 0;
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(CLAUDE|CODEX)/.test(name)));
const call = { event, at: Date.now(), transcriptBytes, input, env };
appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify(call)}\n`);

const answer = join(folder, `${event}.answer`);
if (existsSync(answer)) process.stdout.write(readFileSync(answer));
