import type { ToolChoice, ToolDefinition } from '#models';

import { OpenAiError } from '../../errors/openai-error.js';
import type { AnswerFormat } from '../answer/answer-part.js';
import type { CompletionHeaders } from './completion-headers.js';
import type { CompletionRequest } from './completion-request.js';
import { invalidBody } from './invalid-body.js';

/** Limits of the functions in a request. Only their count and size are checked, so the cost is linear in the body. */
const max = { tools: 128, chars: 262_144 } as const;

const nameShape = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Rejects functions that no provider accepts. Their schemas are passed to the provider unchanged: the client that sent them reads
 * the arguments; the server does not. Throws `OpenAiError` 400. Pure.
 */
function checkClientTools(tools: readonly ToolDefinition[]): void {
  if (tools.length > max.tools) throw invalidBody(`tools: at most ${max.tools} functions fit in a request`);
  const names = new Set<string>();
  let chars = 0;
  for (const [index, definition] of tools.entries()) {
    const { name } = definition.function;
    const field = `tools[${index}].function.name`;
    if (!nameShape.test(name)) throw invalidBody(`${field}: a name is 1 to 64 of letters, digits, "_", "-" and "."`);
    if (names.has(name)) throw invalidBody(`${field}: "${name}" is the name of an earlier function`);
    names.add(name);
    chars += JSON.stringify(definition).length;
    if (chars > max.chars) throw invalidBody(`tools: they are longer than ${max.chars} characters together`);
  }
}

/** The input of `chooseMode`. */
export interface ModeQuestion {
  readonly headers: Pick<CompletionHeaders, 'format' | 'sessionId'>;
  readonly request: Pick<CompletionRequest, 'tools' | 'toolChoice' | 'ignored'>;
  /** Whether the model is a workflow. */
  readonly isWorkflow: boolean;
  /** Whether the request ends with `tool` messages for calls that wait for this principal. */
  readonly answersPending: boolean;
}

/** How a request is served. */
export interface Mode {
  /** Null: the request names no format, so the agent's format applies. */
  readonly format: AnswerFormat | null;
  /** Whether a header or the body asked for strict tool calls; null: neither did, and `tools` is empty. */
  readonly strictBy: 'header' | 'body' | null;
  /** The client's functions that are offered to the model. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | null;
  /** Fields without effect, for `X-Ignored`. */
  readonly ignored: readonly string[];
}

/**
 * Without a header, a request is strict if it has functions or results for waiting calls. A workflow takes no functions, so they are
 * ignored. Throws `OpenAiError` if the mode of the header is not possible, or the functions are invalid. Pure.
 */
export function chooseMode({ headers, request, isWorkflow, answersPending }: ModeQuestion): Mode {
  const { tools, toolChoice, ignored } = request;
  const { format } = headers;
  if (format === 'openai') assertStrictIsPossible(headers, isWorkflow);
  const asksByBody = format === null && !isWorkflow && (tools.length > 0 || answersPending);
  if (format !== 'openai' && !asksByBody) {
    const names = new Set(tools.map((tool) => tool.function.name));
    const isOfIgnored = typeof toolChoice === 'object' && names.has(toolChoice?.function.name ?? '');
    return {
      format,
      strictBy: null,
      tools: [],
      toolChoice: isOfIgnored ? null : toolChoice,
      ignored: tools.length > 0 ? [...ignored, 'tools'] : ignored,
    };
  }
  checkClientTools(tools);
  return { format: 'openai', strictBy: asksByBody ? 'body' : 'header', tools, toolChoice, ignored };
}

/** Removes functions that have the name of a server tool: a call of that name runs the server tool. Pure. */
export function withoutServerTools(mode: Mode, serverTools: ReadonlySet<string>): Mode {
  const isOurs = (tool: ToolDefinition): boolean => serverTools.has(tool.function.name);
  const names = mode.tools.filter(isOurs).map((tool) => `tools.${tool.function.name}`);
  if (names.length === 0) return mode;
  return { ...mode, tools: mode.tools.filter((tool) => !isOurs(tool)), ignored: [...mode.ignored, ...names] };
}

/** The value of `X-Ignored`; null: nothing was ignored. Names that no header can hold are left out. Pure. */
export function toIgnoredHeader(ignored: readonly string[]): string | null {
  const names = ignored.filter((name) => /^[\w.-]{1,80}$/.test(name)).slice(0, 50);
  return names.length === 0 ? null : names.join(', ');
}

function assertStrictIsPossible({ sessionId }: ModeQuestion['headers'], isWorkflow: boolean): void {
  if (sessionId === null) {
    const message = 'X-Session-Id header is required for x-tool-event-format=openai';
    throw new OpenAiError({ status: 400, message, param: 'x-session-id' });
  }
  if (isWorkflow) {
    const message = 'x-tool-event-format=openai is only supported for single-agent models';
    throw new OpenAiError({ status: 400, message, param: 'model' });
  }
}
