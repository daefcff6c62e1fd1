import { idempotencyKey, json, type RouteGroup, type RouteParameter } from '../route.js';

const header = (name: string, description: string, schema?: object): RouteParameter => ({
  ...{ name, in: 'header', description },
  ...(schema === undefined ? {} : { schema }),
});

const onDisconnect = header('X-On-Disconnect', 'What happens to the job when the client disconnects.', {
  type: 'string',
  enum: ['continue', 'cancel'],
  default: 'continue',
});

/** The face that OpenAI clients know. */
export const openAiRoutes: RouteGroup = {
  tag: 'OpenAI',
  description:
    'For clients of OpenAI’s API, as they are. API keys only. Each answer is a durable job: see docs/openai.md.',
  errors: 'OpenAiError',
  routes: [
    {
      method: 'post',
      path: '/v1/chat/completions',
      operationId: 'createChatCompletion',
      summary: 'Create a chat completion',
      description:
        'Agents, workflows and models of the workspace by `model`. Server tools run on the server. Functions of the request go to the client, whose next request returns their results and continues the job.',
      parameters: [
        idempotencyKey,
        header('X-Session-Id', 'Names the conversation.', { type: 'string', minLength: 1, maxLength: 200 }),
        header(
          'X-Tool-Event-Format',
          'How tool calls are shown. Absent: `openai` for a request with functions or their results, else the format of the agent.',
          {
            type: 'string',
            enum: ['inline', 'open-webui', 'none', 'openai'],
          },
        ),
        onDisconnect,
      ],
      body: 'ChatCompletionRequest',
      replies: [
        {
          status: 200,
          description: 'The completion. `X-Job-Id` has its job.',
          schema: 'ChatCompletion',
          media: { 'text/event-stream': 'Each `data` line is a `ChatCompletionChunk`, the last one `[DONE]`.' },
        },
      ],
      refusals: [400, 401, 404, 409, 413, 422, 429, 500, 503, 504],
    },
    {
      method: 'get',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'List models',
      replies: [json(200, 'ModelList', '`auto`, agents, workflows, and models of the provider that the key may use.')],
      refusals: [401, 429],
    },
    {
      method: 'get',
      path: '/v1/models/{id}',
      operationId: 'getModel',
      summary: 'Get a model',
      replies: [json(200, 'Model', 'The model.')],
      refusals: [401, 404, 429],
    },
    {
      method: 'post',
      path: '/v1/tools/execute',
      operationId: 'executeTool',
      summary: 'Execute one tool call',
      description:
        'A job with one call and no model, by the schema, policy, limits and ledger of every call. A call that waits for this client can be executed in its place, once; its result still has to be sent as a `tool` message. A call that waits for a person is answered at once, with 504, `X-Job-Id` and the open requests in `X-Waiting-Approval`; the same `Idempotency-Key` gets its result later.',
      parameters: [
        idempotencyKey,
        onDisconnect,
        header(
          'X-Waiting-Approval',
          'Open requests that one knows of, by their ids, separated by commas: for these the reply is held.',
        ),
      ],
      body: 'ExecuteToolRequest',
      replies: [json(200, 'ExecutedCall', 'What the tool gave. `X-Job-Id` names the job.')],
      refusals: [400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 504],
    },
  ],
};
