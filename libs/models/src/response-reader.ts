import { parseJson, toStorableText } from '#platform';

import type { FinishReason, ModelPart, ModelUsage } from './model/model.js';
import type { SseSink } from './sse-decoder.js';
import { type TextField, TextTemplate } from './text-template.js';
import { ToolCallAssembler } from './tool-call-assembler.js';

type Kind = 'text' | 'reasoning';

/**
 * Joins the text of one read into as few parts as its order allows. NUL and lone surrogates become U+FFFD. If a surrogate pair is split between two
 * chunks, its first half is buffered until the next chunk of the same kind.
 */
class TextCollector {
  private kind: Kind = 'text';
  private pending = '';
  private half = '';
  private parts: ModelPart[] = [];
  /** UTF-16 units of text so far, for estimates of usage. */
  length = 0;

  add(kind: Kind, text: string): void {
    if (kind !== this.kind) {
      this.flush(true);
      this.kind = kind;
    }
    this.pending += text;
    this.length += text.length;
  }

  /** Returns the parts since the last call. `isEnd`: no more text follows. */
  take(isEnd: boolean): ModelPart[] {
    this.flush(isEnd);
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private flush(isEnd: boolean): void {
    if (this.pending === '' && (this.half === '' || !isEnd)) return;
    let text = this.half + this.pending;
    this.pending = '';
    this.half = '';
    if (!isEnd && isHighSurrogate(text.charCodeAt(text.length - 1))) {
      this.half = text.slice(-1);
      text = text.slice(0, -1);
    }
    if (text !== '') this.parts.push({ type: this.kind, text: toStorableText(text) });
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** A rough estimate, marked as `estimated`: about four characters of English per token. */
const CHARACTERS_PER_TOKEN = 4;

/** The usage that the provider reported, if it is plausible: whole numbers >= 0 that are not all zero. */
function toModelUsage(value: unknown): ModelUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens } = value as Record<string, unknown>; // each member is checked below
  const promptTokens = toCount(prompt_tokens);
  const completionTokens = toCount(completion_tokens);
  if (promptTokens === undefined || completionTokens === undefined || promptTokens + completionTokens === 0)
    return undefined;
  const totalTokens = Math.max(toCount(total_tokens) ?? 0, promptTokens + completionTokens);
  return { promptTokens, completionTokens, totalTokens, estimated: false };
}

/** Both lengths in characters. */
function estimateUsage(promptLength: number, completionLength: number): ModelUsage {
  const promptTokens = Math.ceil(promptLength / CHARACTERS_PER_TOKEN);
  const completionTokens = Math.ceil(completionLength / CHARACTERS_PER_TOKEN);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}

/** Postgres stores token counts as 32-bit integers. A larger count is an error of the provider. */
function toCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1_000_000_000
    ? value
    : undefined;
}

/** The provider reported a failure inside the stream. `error` is the provider's error object or text. */
export class ErrorInResponse extends Error {
  constructor(readonly error: unknown) {
    super('The provider reported an error.');
  }
}

/** The stream ended before the response was complete, or cannot be read. */
export class IncompleteResponse extends Error {}

/** Maximum number of attempts to learn the template of a stream. If all chunks of a stream differ, only these attempts are wasted. */
const MAX_LESSONS = 8;
/** Maximum UTF-16 units of a chunk that becomes a template: a template is parsed twice. Pieces of text are far shorter. */
const MAX_LESSON_LENGTH = 65_536;
/** Maximum lines outside the event stream that are searched for an error. A line that is not JSON takes 3 µs, and 64 MiB may have 30 million. */
const MAX_STRAY_LINES = 100;
/**
 * Maximum tokens of a chunk or document (see `parseJson`), so that parsing it takes at most about 30 ms. Text and arguments are one token each, so only a
 * list of probabilities could have more, which this client does not read.
 */
const MAX_TOKENS = 100_000;
const TEXT_FIELDS: readonly TextField[] = ['content', 'reasoning_content', 'reasoning'];

type Json = Readonly<Record<string, unknown>>;

/** Reads the payloads of one streamed chat completion into parts. Pure: it decodes no bytes, uses no clock and retries nothing. */
export class ResponseReader implements SseSink {
  private readonly text = new TextCollector();
  private readonly calls: ToolCallAssembler;
  private template: TextTemplate | undefined;
  private lessons = 0;
  private strayLines = 0;
  private finishReason: string | undefined;
  private usage: ModelUsage | undefined;
  private isDone = false;

  constructor(
    private readonly options: {
      readonly limits: { readonly maxToolCalls: number; readonly maxArgumentsLength: number };
      readonly newCallId: () => string;
      readonly promptLength: number;
      readonly onData?: (() => void) | undefined;
    },
  ) {
    this.calls = new ToolCallAssembler(options.limits, options.newCallId);
  }

  /** The provider sent `[DONE]`; the reader ignores everything after it. */
  get isOver(): boolean {
    return this.isDone;
  }

  /** The response is complete, even if the connection breaks now. */
  get isComplete(): boolean {
    return this.finishReason !== undefined || (this.isDone && !this.calls.isEmpty);
  }

  data(block: string, start: number, end: number): boolean {
    if (this.isDone) return true;
    const isRead = this.event(block, start, end);
    if (isRead) this.options.onData?.(); // an error is thrown instead
    return isRead;
  }

  private event(block: string, start: number, end: number): boolean {
    const text = this.finishReason === undefined ? this.template?.read(block, start, end) : undefined;
    if (text !== undefined && this.template !== undefined) {
      this.text.add(this.template.field === 'content' ? 'text' : 'reasoning', text);
      return true;
    }
    return this.document(block.slice(start, end));
  }

  /** Reads a whole document: a payload of several lines, or the response of a server that does not stream. */
  wholeDocument(payload: string): void {
    if (!this.isDone && !this.document(payload))
      throw new IncompleteResponse('The stream contains something other than JSON.');
  }

  unknownLine(line: string): void {
    if (this.isDone || !line.startsWith('{') || this.strayLines >= MAX_STRAY_LINES) return;
    this.strayLines += 1;
    const value = parse(line);
    if (isObject(value) && value['error'] !== undefined) throw new ErrorInResponse(value['error']);
  }

  /** Returns the parts since the last call; the list may be empty. */
  take(): ModelPart[] {
    return this.text.take(false);
  }

  /** Returns the last parts. Throws `IncompleteResponse` if the response is not complete. */
  finish(): ModelPart[] {
    if (!this.isComplete) throw new IncompleteResponse('The stream ended without a finish reason.');
    const parts = this.text.take(true);
    const calls = this.calls.finish();
    if (calls.length > 0) parts.push({ type: 'tool-calls', calls });
    const usage = this.usage ?? estimateUsage(this.options.promptLength, this.text.length + this.calls.length);
    parts.push({
      type: 'finish',
      finishReason: calls.length > 0 ? 'tool_calls' : toFinishReason(this.finishReason),
      usage,
    });
    return parts;
  }

  /** Returns false if the text is not JSON, or not complete JSON yet. */
  private document(document: string): boolean {
    if (document.trim() === '[DONE]') {
      this.isDone = true;
      return true;
    }
    const value = parse(document);
    if (value === undefined) return false;
    if (!isObject(value)) throw new IncompleteResponse('The stream contains something other than a JSON object.');
    const plainField = this.chunk(value);
    if (plainField !== undefined) this.learn(plainField, document);
    return true;
  }

  /** Returns the field of the text if the chunk contains only text, and no usage or finish reason. */
  private chunk(chunk: Json): TextField | undefined {
    const { error } = chunk;
    if (error !== undefined && error !== null && error !== '' && error !== false) throw new ErrorInResponse(error);
    const ownUsage = toModelUsage(chunk['usage'] ?? (isObject(chunk['x_groq']) ? chunk['x_groq']['usage'] : undefined));
    if (ownUsage !== undefined) this.usage = ownUsage;
    const choice = firstChoice(chunk);
    if (choice === undefined) return undefined;
    const wasFinished = this.finishReason !== undefined;
    const finished = this.finishing(choice);
    const delta = isObject(choice['delta']) ? choice['delta'] : choice['message'];
    // Text ends with the finish reason. Usage, errors and, from some providers, the tool calls come after it.
    if (wasFinished && isObject(delta)) this.toolCalls(delta);
    const field = isObject(delta) && !wasFinished ? this.delta(delta) : undefined;
    return ownUsage === undefined && !finished ? field : undefined;
  }

  private finishing(choice: Json): boolean {
    const reason = choice['finish_reason'];
    if (reason === 'error') throw new ErrorInResponse(choice['error'] ?? 'finish_reason "error"');
    if (typeof reason !== 'string' || reason === '') return false;
    this.finishReason ??= reason;
    return true;
  }

  private delta(delta: Json): TextField | undefined {
    const reasoning = this.reasoning(delta);
    const content = toText(delta['content'], 'text');
    const thinking = toText(delta['content'], 'thinking');
    const refusal = typeof delta['refusal'] === 'string' ? delta['refusal'] : '';
    if (thinking !== '') this.text.add('reasoning', thinking);
    if (content !== '') this.text.add('text', content);
    if (refusal !== '') this.text.add('text', refusal);
    const hasCalls = this.toolCalls(delta);
    if (hasCalls || thinking !== '' || refusal !== '') return undefined;
    if (reasoning === undefined) return typeof delta['content'] === 'string' && content !== '' ? 'content' : undefined;
    return content === '' ? reasoning : undefined;
  }

  /** DeepSeek and vLLM name the field `reasoning_content`; OpenRouter, Groq and Ollama name it `reasoning`. Some send both, with the same text. */
  private reasoning(delta: Json): TextField | undefined {
    for (const field of TEXT_FIELDS) {
      const value = delta[field];
      if (field === 'content' || typeof value !== 'string' || value === '') continue;
      this.text.add('reasoning', value);
      return field;
    }
    return undefined;
  }

  private toolCalls(delta: Json): boolean {
    const fragments: readonly unknown[] = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
    for (const fragment of fragments) {
      if (isObject(fragment)) this.calls.add(fragment);
    }
    const legacy = delta['function_call'];
    if (isObject(legacy)) this.calls.add({ index: 0, function: legacy });
    return fragments.length > 0 || isObject(legacy);
  }

  private learn(field: TextField, document: string): void {
    if (this.lessons >= MAX_LESSONS || document.length > MAX_LESSON_LENGTH) return;
    this.lessons++;
    this.template = TextTemplate.learn(field, document, (probe) => {
      const value = parse(probe);
      const delta = isObject(value) ? firstChoice(value)?.['delta'] : undefined;
      return isObject(delta) ? delta[field] : undefined;
    });
  }
}

/** The client requests one choice, but a server may send several. Only the first one is used. */
function firstChoice(chunk: Json): Json | undefined {
  const choices: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
  return choices.filter(isObject).find((choice) => (choice['index'] ?? 0) === 0);
}

/** How deep lists of pieces are read: Mistral sends `thinking` pieces, whose lists have `text` pieces. Text in a list is copied at each level. */
const MAX_PIECE_DEPTH = 3;

/** A text, or the pieces of one kind in a list of pieces (Mistral sends `text` and `thinking` pieces). */
function toText(content: unknown, kind: 'text' | 'thinking', depth = 0): string {
  if (typeof content === 'string') return kind === 'text' ? content : '';
  if (!Array.isArray(content) || depth === MAX_PIECE_DEPTH) return '';
  const pieces = content.filter(isObject).filter((piece) => piece['type'] === kind);
  const texts = pieces.map((piece) =>
    typeof piece[kind] === 'string' ? piece[kind] : toText(piece[kind], 'text', depth + 1),
  );
  return texts.join('');
}

function toFinishReason(reason: string | undefined): FinishReason {
  switch (reason) {
    case 'stop':
    case 'length':
    case 'content_filter':
      return reason;
    // The provider announced calls and sent none: the text is the whole response.
    case 'tool_calls':
    case 'function_call':
      return 'stop';
    case undefined:
    default:
      return 'other';
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return parseJson(text, MAX_TOKENS);
  } catch {
    return undefined;
  }
}
