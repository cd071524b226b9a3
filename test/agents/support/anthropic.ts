import { type Asked, makeScript, type Turn } from './script.ts';
import { nextId, sendEvents, sendJson, serve } from './serve.ts';

export type AnthropicUsage = {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
};

export type AnthropicTurn = Turn<AnthropicUsage>;

/** What the stand-in answered: the message as the transcript must know it. */
export type Given = { readonly id: string; readonly model: string; readonly usage: AnthropicUsage };

const plainUsage: AnthropicUsage = {
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
};

/** A stand-in for Anthropic's Messages API that gives the turns of a script, and remembers what it was asked. */
export async function startAnthropicModel(turns: readonly AnthropicTurn[] = []) {
  const script = makeScript(turns);
  const asked: Asked[] = [];
  const given: Given[] = [];
  const others: Asked[] = [];
  const url = await serve(async (request, response) => {
    const path = request.path.split('?')[0];
    if (path === '/v1/messages/count_tokens') {
      others.push(request);
      return sendJson(response, 200, { input_tokens: 1000 });
    }
    if (path !== '/v1/messages') {
      others.push(request);
      return sendJson(response, 404, errorBody('not_found_error', 'not found'));
    }
    asked.push(request);
    const turn = script.take(request, isConversation(request)) ?? { text: 'Done.' };
    await turn.after;
    if ('status' in turn)
      return sendJson(response, turn.status, errorBody(turn.type, turn.message), turn.headers);
    const message = {
      id: nextId('msg'),
      model: String(request.body.model),
      usage: { ...plainUsage, ...turn.usage },
    };
    given.push(message);
    sendEvents(response, eventsOf(message, turn));
  });
  return { url, asked, given, others, script };
}

/** The agent also asks on the side, for titles and the like; those requests bring no tools. */
function isConversation({ body }: Asked): boolean {
  return Array.isArray(body?.tools) && body.tools.length > 0;
}

function errorBody(type: string, message: string) {
  return { type: 'error', error: { type, message } };
}

/** The event stream of one message. As with the real one, only `message_delta` knows all output tokens. */
function eventsOf(message: Given, turn: Exclude<AnthropicTurn, { status: number }>) {
  const blocks = [
    ...(turn.text === undefined ? [] : [textBlock(turn.text)]),
    ...(turn.tools ?? []).map(({ tool, input }) => toolBlock(tool, input)),
  ];
  return [
    {
      type: 'message_start',
      message: {
        id: message.id,
        type: 'message',
        role: 'assistant',
        model: message.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...message.usage, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: turn.tools?.length ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: message.usage,
    },
    { type: 'message_stop' },
  ];
}

function textBlock(text: string) {
  return { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } };
}

function toolBlock(name: string, input: Record<string, unknown>) {
  return {
    start: { type: 'tool_use', id: nextId('toolu'), name, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  };
}
