/* Tells whether a prompt is a request, a reply, a side question, or nothing a person typed. */

export type Prompt =
  /** Work to do; it stays current until it is done. */
  | { readonly kind: 'request'; readonly text: string }
  /** A reply to what the agent asked. */
  | { readonly kind: 'reply'; readonly text: string; readonly to: string | null }
  /** A question that asks for no work. */
  | { readonly kind: 'question'; readonly text: string }
  /** Nothing worth keeping: a plain yes, an agent command, or a program's notification. */
  | { readonly kind: 'nothing' };

const nothing: Prompt = { kind: 'nothing' };

/** Classifies a prompt, given what the agent said before it. */
export function readPrompt(prompt: string, lastMessage: string | null): Prompt {
  const text = removeEnvelopes(prompt.trim());
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

// Programs wrap their messages in these tags, and Claude Code passes them on as if the user had typed them.
const envelopes =
  'task-notification|system-reminder|local-command-[a-z]+|bash-[a-z]+|command-[a-z]+|teammate-message|cross-session-message|channel|wake';
const envelope = new RegExp(`^<(${envelopes})(?:\\s[^>]*)?>([\\s\\S]*?)</\\1>\\s*`);

/** A notification tag without the usual contents is not a notification: the user wrote about the tag. */
function removeEnvelopes(prompt: string): string {
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

/** `/compact` and `/model opus` control the agent; `/implement the login page` is a request. */
function isAgentCommand(text: string): boolean {
  const command = /^\/([\w:-]+)(?:\s+|$)([\s\S]*)/.exec(text);
  if (command === null) return text.startsWith('!'); // a shell command typed into the prompt
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

/** First words of an answer that says more than yes or no. */
const verdicts =
  /^(?:y|yes|yep|yeah|yup|ok|okay|sure|no|nope|nah|right|correct|exactly|fine|agreed|ja|nein|oui|non)$/;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}

const asking =
  /^(?:(?:quick|question|btw|hey|ok|so)\b[\s:,]*)*(?:quick question[\s:,]*)?(?:what|where|when|who|whose|which|why|how|is|are|was|were|does|do|did|has|have|should|am)\b/i;

/** True for a short question alone. "Can you add…?" asks for work. */
function isQuestion(text: string, words: readonly string[]): boolean {
  return text.endsWith('?') && words.length <= 25 && !/[.!;]\s/.test(text) && asking.test(text);
}

/** Finds the question an agent ended its message with, if any. */
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
