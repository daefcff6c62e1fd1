import type { AnswerEnd, AnswerPart, AnswerUsage, ClientToolCall } from './answer-part.js';

/** The fields that all chunks of a response share. */
export interface AnswerHead {
  /** `chatcmpl-<12 hex>` */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

/** Token counts in OpenAI's format. */
export interface WireUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/**
 * Writes a response as an event stream: each `data` line is a `chat.completion.chunk` or `[DONE]`. The constructor serializes the fields
 * that all chunks share, so a piece of text costs little more than its own JSON.
 */
export class ChunkWriter {
  /** The chunk up to `choices`. */
  private readonly start: string;
  /** The chunk up to the text of `content`. */
  private readonly contentStart: string;
  private readonly contentEnd: string;
  /** Part of every chunk except the one that carries the usage, if there is one. */
  private readonly noUsage: string;

  constructor(
    head: AnswerHead,
    private readonly options: { readonly includeUsage: boolean },
  ) {
    const { id, created, model } = head;
    const common = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.start = `data: ${oneLine(common.slice(0, -1))},"choices":[`;
    this.noUsage = options.includeUsage ? ',"usage":null' : '';
    this.contentStart = `${this.start}{"index":0,"delta":{"content":`;
    this.contentEnd = `},"logprobs":null,"finish_reason":null}]${this.noUsage}}\n\n`;
  }

  /** The first chunk, which has the role. */
  role(): string {
    return this.chunk({ role: 'assistant', content: '' }, null);
  }

  /** The lines of one part; the end includes all of its chunks and `[DONE]`. */
  lines(part: AnswerPart): string {
    switch (part.type) {
      case 'content':
        return this.contentStart + oneLine(JSON.stringify(part.text)) + this.contentEnd;
      case 'comment':
        return commentLine(part.text);
      case 'tool-calls':
        return part.calls
          .map((call, index) => this.chunk({ tool_calls: [{ index, ...toWireCall(call) }] }, null))
          .join('');
      case 'end':
        return this.end(part);
    }
  }

  private end({ finishReason, usage, error }: AnswerEnd): string {
    if (error !== null) {
      const errorDelta = { content: `\n\n[error] ${error.message}` };
      return this.chunk(errorDelta, 'stop', `,"error":${oneLine(JSON.stringify(error.toBody()))}`) + DONE;
    }
    const last = this.chunk({}, finishReason);
    if (!this.options.includeUsage) return last + DONE;
    const comment = usage.estimated ? commentLine('usage estimated') : '';
    return `${last}${comment}${this.start}],"usage":${JSON.stringify(toWireUsage(usage))}}\n\n${DONE}`;
  }

  private chunk(delta: object, finishReason: string | null, more = ''): string {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    return `${this.start}${oneLine(JSON.stringify(choice))}]${this.noUsage}${more}}\n\n`;
  }
}

const DONE = 'data: [DONE]\n\n';

/** A comment of an event stream (HTML Standard, section 9.2.6): always one line, also when `text` has line breaks. */
export function commentLine(text: string): string {
  return `: ${text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')}\n\n`;
}

export function toWireCall({ id, name, arguments: args }: ClientToolCall) {
  return { id, type: 'function', function: { name, arguments: args } } as const;
}

export function toWireUsage({ promptTokens, completionTokens }: AnswerUsage): WireUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

const lineEnds = /[\u0085\u2028\u2029]/g;

/** Escapes line separators that JSON leaves unchanged: a client that splits lines as Unicode defines them would break the line there. */
function oneLine(json: string): string {
  return json.replace(lineEnds, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
