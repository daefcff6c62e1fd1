import { randomUUID } from 'node:crypto';

import { Agent, type Dispatcher } from 'undici';

import type { Model, ModelLimits, ModelOptions, ModelPart, ModelRequest, ModelTarget } from './model.js';
import { ModelCall } from './model-call.js';
import { toChatCompletionsUrl } from './model-url.js';
import { ModelError, modelKeyMalformed, modelUnreachable } from './models.errors.js';
import { isSendableKey } from './sendable-key.js';

const DEFAULT_LIMITS: ModelLimits = {
  maxLineBytes: 8_388_608,
  maxStreamBytes: 67_108_864,
  maxArgumentsLength: 4_194_304,
  maxToolCalls: 1_000,
};

/** What the OpenAI-compatible client takes besides the port's own options. */
export interface OpenAiModelOptions extends ModelOptions {
  /** Makes and keeps the connections; `createModelAgent()`, or a guarded one for addresses that tenants chose. */
  readonly dispatcher: Dispatcher;
  /** Ids for calls that come without one, or with one that another call has. */
  readonly newCallId?: () => string;
}

/** Connections to model servers, kept alive and shared by all calls of a process. Time limits are the calls' own. Close it at the end. */
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
 * A `Model` over any server that speaks OpenAI's streaming chat completions. Cheap to make: one per job is fine. Throws
 * `invalid_base_url` for a base URL that is none. Redirects are not followed.
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

  /** Sends one request. Later errors are thrown by `next`. */
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

/** The JSON text of a streaming chat completion. Sampling fields pass through; what this client decides itself wins over them. */
function toChatCompletionsBody(request: ModelRequest, options: { readonly askForUsage: boolean }): string {
  const { tools = [], toolChoice, parameters = {} } = request;
  // Some servers refuse a field about tools when the request offers none.
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
