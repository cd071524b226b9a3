/* What a prompt is: something to do, an answer, a question by the way, or nothing that a person typed. */

export type Prompt =
  /** Something to do: it stays until the work is done. */
  | { readonly kind: 'request'; readonly text: string }
  /** A word to what the agent had asked. */
  | { readonly kind: 'reply'; readonly text: string; readonly to: string | null }
  /** Something to know, and no work. */
  | { readonly kind: 'question'; readonly text: string }
  /** Nothing to keep: a bare consent, a command of the agent's own, or a program's notification. */
  | { readonly kind: 'nothing' };

const nothing: Prompt = { kind: 'nothing' };

/** Reads a prompt, knowing what the agent said before it. */
export function readPrompt(prompt: string, lastMessage: string | null): Prompt {
  const text = typedBy(prompt.trim());
  if (text === '' || isAgentCommand(text)) return nothing;
  const question = lastMessage === null ? null : findQuestion(lastMessage);
  const words = wordsOf(text);
  if (words.length === 0) return question === null ? nothing : { kind: 'reply', text, to: question };
  if (words.length <= 8 && words.every((word) => consents.has(word)))
    return question === null ? nothing : { kind: 'reply', text, to: question };
  const answers = verdicts.test(words[0] ?? '') || (question !== null && words.length <= 4);
  if (answers && words.length <= (question === null ? 5 : 30)) return { kind: 'reply', text, to: question };
  return isQuestion(text, words) ? { kind: 'question', text } : { kind: 'request', text };
}

// What programs wrap their messages in; Claude Code passes them on as if somebody had typed them.
const envelopes =
  'task-notification|system-reminder|local-command-[a-z]+|bash-[a-z]+|command-[a-z]+|teammate-message|cross-session-message|channel|wake';
const envelope = new RegExp(`^<(${envelopes})(?:\\s[^>]*)?>([\\s\\S]*?)</\\1>\\s*`);

/** What of a prompt a person typed. A tag without what such a message has inside is somebody's text about it. */
function typedBy(prompt: string): string {
  let text = prompt;
  for (let found = envelope.exec(text); found; found = envelope.exec(text)) {
    const [whole, tag, inside = ''] = found;
    if (tag === 'task-notification' && !/<(task-id|status|summary)>/.test(inside)) return text;
    text = text.slice(whole.length);
  }
  return text;
}

const ownCommands = new Set(
  'add-dir agents bashes bug clear compact config context copy cost doctor effort exit export fast feedback help hooks ide init install login logout mcp memory model new output-style permissions plan plugin privacy-settings quit release-notes rename resume rewind sandbox status statusline stats tasks terminal-setup theme todos upgrade usage vim'.split(
    ' ',
  ),
);

/** `/compact`, `/model opus`: what steers the agent. `/implement the login page` asks for something. */
function isAgentCommand(text: string): boolean {
  const command = /^\/([\w:-]+)(?:\s+|$)([\s\S]*)/.exec(text);
  if (command === null) return text.startsWith('!'); // a shell line, typed into the prompt
  const [, name = '', rest = ''] = command;
  return ownCommands.has(name) || wordsOf(rest).length < 3;
}

const consents = new Set(
  `yes y yep yeah yup ok okay k kk sure go on ahead continue proceed carry keep going do it that this please thanks thank you
  great good fine perfect nice cool right correct exactly lgtm approved agreed next done no nope nah stop wait hi hello hey
  sounds looks all then so now and alright absolutely definitely ja nein weiter bitte danke oui non si sí`.split(
    /\s+/,
  ),
);

/** What an answer begins with that says more than yes or no. */
const verdicts =
  /^(?:y|yes|yep|yeah|yup|ok|okay|sure|no|nope|nah|right|correct|exactly|fine|agreed|ja|nein|oui|non)$/;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}

const asking =
  /^(?:(?:quick|question|btw|hey|ok|so)\b[\s:,]*)*(?:quick question[\s:,]*)?(?:what|where|when|who|whose|which|why|how|is|are|was|were|does|do|did|has|have|should|am)\b/i;

/** A short question and nothing else: "can you add…?" asks for work. */
function isQuestion(text: string, words: readonly string[]): boolean {
  return text.endsWith('?') && words.length <= 25 && !/[.!;]\s/.test(text) && asking.test(text);
}

/** What an agent asked at the end of what it said; null where it did not ask. */
export function findQuestion(message: string): string | null {
  const end =
    message
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? '';
  const sentences = end.replace(/\s+/g, ' ').match(/[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*/g) ?? [];
  const asked = sentences.findLast((sentence) => sentence.trimEnd().endsWith('?'));
  return asked?.trim().replace(/^[-*#>\s]+/, '') ?? null;
}
