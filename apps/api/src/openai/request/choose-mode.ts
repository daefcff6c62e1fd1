import type { ToolChoice, ToolDefinition } from '#models';

import type { AnswerFormat } from '../answer/answer-part.js';
import type { CompletionHeaders } from './completion-headers.js';
import type { CompletionRequest } from './completion-request.js';

/** What a mode is chosen by. */
export interface ModeQuestion {
  readonly headers: CompletionHeaders;
  readonly request: CompletionRequest;
  /** The model is a workflow. */
  readonly isWorkflow: boolean;
  /** The request ends with `tool` messages that answer calls which wait for this principal. */
  readonly answersPending: boolean;
}

/** How a request is served. */
export interface Mode {
  readonly format: AnswerFormat;
  /** Who asked for strict tool calls; null: nobody, `tools` is empty. */
  readonly strictBy: 'header' | 'body' | null;
  /** What is offered to the model of the client's functions. */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | null;
  /** Fields that mean nothing, for `X-Ignored`. */
  readonly ignored: readonly string[];
}

/** Throws `OpenAiError` where the header asks for what cannot be had. Pure. */
export function chooseMode({ request }: ModeQuestion): Mode {
  const { tools, toolChoice, ignored } = request;
  return { format: 'inline', strictBy: null, tools, toolChoice, ignored };
}

/** Functions whose name is that of a server tool mean the server tool. Pure. */
export function withoutServerTools(mode: Mode, serverTools: ReadonlySet<string>): Mode {
  return { ...mode, tools: mode.tools.filter(({ function: { name } }) => !serverTools.has(name)) };
}
