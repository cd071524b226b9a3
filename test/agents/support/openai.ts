import { type Asked, makeScript, type ToolUse, type Turn } from './script.ts';
import { nextId, sendEvents, sendJson, serve } from './serve.ts';

export type OpenAiUsage = {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
};

export type OpenAiTurn = Turn<OpenAiUsage>;

const plainUsage: OpenAiUsage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
};

/** A stand-in for OpenAI's Responses API that gives the turns of a script, and remembers what it was asked. */
export async function startOpenAiModel(turns: readonly OpenAiTurn[] = []) {
  const script = makeScript(turns);
  const asked: Asked[] = [];
  const given: OpenAiUsage[] = [];
  const others: Asked[] = [];
  const url = await serve(async (request, response) => {
    if (!request.path.endsWith('/responses')) {
      others.push(request);
      return sendJson(response, 404, { error: { type: 'not_found', message: 'not found' } });
    }
    asked.push(request);
    const turn = script.take(request, true) ?? { text: 'Done.' };
    await turn.after;
    if ('status' in turn) {
      const body = { error: { type: turn.type, code: turn.type, message: turn.message } };
      return sendJson(response, turn.status, body, turn.headers);
    }
    const usage = { ...plainUsage, ...turn.usage };
    given.push(usage);
    sendEvents(response, eventsOf(turn, usage));
  });
  return { url: `${url}/v1`, asked, given, others, script };
}

/** The event stream of one response. */
function eventsOf(turn: Exclude<OpenAiTurn, { status: number }>, usage: OpenAiUsage) {
  const id = nextId('resp');
  const items = [
    ...(turn.text === undefined ? [] : [messageItem(turn.text)]),
    ...(turn.tools ?? []).map(callItem),
  ];
  return [
    { type: 'response.created', response: { id } },
    ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    {
      type: 'response.completed',
      response: {
        id,
        status: 'completed',
        output: items,
        usage: { ...usage, total_tokens: usage.input_tokens + usage.output_tokens },
      },
    },
  ];
}

function messageItem(text: string) {
  return { type: 'message', role: 'assistant', id: nextId('msg'), content: [{ type: 'output_text', text }] };
}

function callItem({ tool: name, input, namespace }: ToolUse) {
  return {
    type: 'function_call',
    id: nextId('fc'),
    call_id: nextId('call'),
    name,
    ...(namespace && { namespace }),
    arguments: JSON.stringify(input),
  };
}
