import type { ModelRequest } from './model.js';

/** The JSON text of a streaming chat completion. Sampling fields pass through; what this client decides itself wins over them. */
export function toChatCompletionsBody(request: ModelRequest, options: { readonly askForUsage: boolean }): string {
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
