import { randomUUID } from 'node:crypto';

import type { DemoAnswer, DemoRequest } from './demo-answer.js';
import { DEMO_MODEL_NAME } from './demo-rules.js';

const CHARACTERS_PER_TOKEN = 4;

interface WireCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** One answer in OpenAI's shapes, whole or as the chunks of a stream. */
export class DemoWire {
  private readonly id = `chatcmpl-${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  private readonly calls: readonly WireCall[];
  private readonly created: number;

  constructor(
    private readonly request: DemoRequest,
    private readonly answer: DemoAnswer,
    nowMs: number,
  ) {
    this.created = Math.floor(nowMs / 1_000);
    this.calls = answer.calls.map((call) => ({
      id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
  }

  /** The answer to a request that does not stream. */
  whole(): object {
    const message = { role: 'assistant', content: this.answer.text === '' ? null : this.answer.text, refusal: null };
    return {
      ...this.envelope('chat.completion'),
      choices: [
        {
          index: 0,
          message: this.calls.length === 0 ? message : { ...message, tool_calls: this.calls },
          logprobs: null,
          finish_reason: this.finishReason,
        },
      ],
      usage: this.usage(),
    };
  }

  /** The chunks of a stream, in order; the text a word at a time. `[DONE]` is the transport's. */
  *chunks(): Generator<object> {
    yield this.chunk({ role: 'assistant', content: this.calls.length === 0 ? '' : null });
    for (const text of this.answer.text.match(/\s*\S+|\s+$/g) ?? []) yield this.chunk({ content: text });
    for (const [index, call] of this.calls.entries()) {
      const { name, arguments: text } = call.function;
      yield this.chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] });
      yield this.chunk({ tool_calls: [{ index, function: { arguments: text } }] });
    }
    yield this.chunk({}, this.finishReason);
    if (this.request.stream_options?.include_usage === true) {
      yield { ...this.envelope('chat.completion.chunk'), choices: [], usage: this.usage() };
    }
  }

  private get finishReason(): 'stop' | 'tool_calls' {
    return this.calls.length === 0 ? 'stop' : 'tool_calls';
  }

  private chunk(delta: object, finishReason: string | null = null): object {
    return {
      ...this.envelope('chat.completion.chunk'),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    };
  }

  private envelope(object: string): object {
    return { id: this.id, object, created: this.created, model: DEMO_MODEL_NAME };
  }

  private usage(): object {
    const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN);
    const prompt_tokens = tokens(this.request.messages);
    const completion_tokens = tokens(this.calls.length === 0 ? this.answer.text : this.calls);
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  }
}
