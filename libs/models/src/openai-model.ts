import { randomUUID } from 'node:crypto';

import { Agent, type Dispatcher } from 'undici';

import type { Model, ModelLimits, ModelOptions, ModelPart, ModelRequest, ModelTarget } from './model/model.js';
import { toChatCompletionsUrl } from './model/model-url.js';
import { ModelError, modelKeyMalformed, modelUnreachable } from './model/models.errors.js';
import { isSendableKey } from './model/sendable-key.js';
import { ModelCall } from './model-call.js';

const DEFAULT_LIMITS: ModelLimits = {
  maxLineBytes: 8_388_608,
  maxStreamBytes: 67_108_864,
  maxArgumentsLength: 2_097_152,
  maxToolCalls: 1_000,
};

/** Options of the OpenAI-compatible client, in addition to those of the port. */
export interface OpenAiModelOptions extends ModelOptions {
  /** Opens and keeps the connections: `createModelAgent()`, or a guarded agent for addresses that tenants chose. */
  readonly dispatcher: Dispatcher;
  /** Creates an id for a call that has none, or that has the id of another call. */
  readonly newCallId?: () => string;
}

/** The connections to model servers, kept alive and shared by all calls of a process. Each call has its own timeouts. Close the agent at the end. */
export function createModelAgent(): Agent {
  return new Agent({
    connect: { timeout: 10_000 },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    allowH2: false,
  });
}

/**
 * A `Model` for any server with OpenAI's streaming chat completions. Cheap to create, so each job can have its own. Throws `invalid_base_url` for an
 * invalid base URL. Does not follow redirects.
 */
export function createOpenAiModel(target: ModelTarget, options: OpenAiModelOptions): Model {
  return new OpenAiModel(target, options);
}

class OpenAiModel implements Model {
  private readonly url: { readonly origin: string; readonly path: string };
  private readonly settings: Required<ModelOptions> & {
    readonly limits: ModelLimits;
    readonly newCallId: () => string;
  };
  /** False after a server refused `stream_options`. */
  private askForUsage = true;

  constructor(
    private readonly target: ModelTarget,
    private readonly options: OpenAiModelOptions,
  ) {
    this.url = toChatCompletionsUrl(target.baseUrl);
    this.settings = {
      clock: options.clock,
      firstByteTimeoutMs: options.firstByteTimeoutMs ?? 60_000,
      idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
      limits: { ...DEFAULT_LIMITS, ...options.limits },
      newCallId: options.newCallId ?? (() => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`),
    };
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelPart[], void> {
    for (;;) {
      signal.throwIfAborted();
      const asksForUsage = this.askForUsage;
      const call = this.start(request, signal);
      try {
        for (let parts = await call.next(); parts !== undefined; parts = await call.next()) yield parts;
        return;
      } catch (error) {
        if (!asksForUsage || !isAboutUsage(error)) throw error;
        this.askForUsage = false;
      } finally {
        call.release();
      }
    }
  }

  /** Sends one request. `next` throws later errors. */
  private start(request: ModelRequest, signal: AbortSignal): ModelCall {
    const body = toChatCompletionsBody(request, { askForUsage: this.askForUsage });
    const headers = this.headers();
    const { onData } = request;
    const { apiKey } = this.target;
    const call = new ModelCall({ ...this.settings, signal, apiKey, promptLength: body.length, onData });
    try {
      this.options.dispatcher.dispatch({ ...this.url, method: 'POST', headers, body }, call);
    } catch (error) {
      call.release();
      throw modelUnreachable(error);
    }
    return call;
  }

  private headers(): Record<string, string> {
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', 'accept-encoding': 'identity' };
    if (this.target.apiKey === null) return headers;
    if (!isSendableKey(this.target.apiKey)) throw modelKeyMalformed();
    return { ...headers, authorization: `Bearer ${this.target.apiKey.reveal()}` };
  }
}

/** Some servers refuse the whole request for `stream_options`. */
function isAboutUsage(error: unknown): boolean {
  if (!(error instanceof ModelError) || error.afterFirstByte) return false;
  return error.code === 'model_bad_request' && String(error.details['providerText']).includes('stream_options');
}

/** The JSON text of a streaming chat completion. Sampling fields are sent unchanged; fields that this client sets take precedence. */
function toChatCompletionsBody(request: ModelRequest, options: { readonly askForUsage: boolean }): string {
  const { tools = [], toolChoice, parameters = {} } = request;
  // Some servers refuse a request that has `parallel_tool_calls` and no tools.
  const { parallel_tool_calls, ...sampling } = parameters;
  return JSON.stringify({
    ...sampling,
    model: request.model,
    messages: request.messages,
    ...(tools.length === 0 ? {} : { tools, tool_choice: toolChoice, parallel_tool_calls }),
    n: undefined,
    stream: true,
    stream_options: options.askForUsage ? { include_usage: true } : undefined,
  });
}
