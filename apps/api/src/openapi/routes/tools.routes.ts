import { toolCallStatuses } from '#tools';

import { json, type RouteGroup, type RouteParameter } from '../route.js';

const query = (name: string, description: string, schema?: object): RouteParameter => ({
  ...{ name, in: 'query', description },
  ...(schema === undefined ? {} : { schema }),
});

/** The ledger of tool calls, and the queue of isolated tools. */
export const toolRoutes: RouteGroup = {
  tag: 'Tools',
  description: 'Tool call history and the isolated tool queue. To run a single call: `POST /v1/tools/execute`.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/api/tool-calls/export',
      operationId: 'exportToolCalls',
      summary: 'Export the tool calls of all jobs',
      parameters: [
        query('user', 'Whose jobs.'),
        query('thread', 'A thread.'),
        query('job', 'A job.'),
        query('workflow', 'A workflow.'),
        query('tool', 'A name; `*` and `?` stand for others.'),
        query('runtime', 'Sorts of tools, with commas: server, client, http, mcp.'),
        query('status', `With commas: ${toolCallStatuses.join(', ')}.`),
        query('errorPhase', 'Where it failed.'),
        query('errorCode', 'How it failed.'),
        query('errorText', 'A part of the error’s text.'),
        query('approver', 'Who decided.'),
        query('from', 'RFC 3339.', { type: 'string', format: 'date-time' }),
        query('to', 'RFC 3339.', { type: 'string', format: 'date-time' }),
        query('minDurationMs', 'Ms.', { type: 'integer', minimum: 0 }),
        query('maxDurationMs', 'Ms.', { type: 'integer', minimum: 0 }),
        query('argument', 'A condition on an argument; may be repeated.', { type: 'array', items: { type: 'string' } }),
      ],
      replies: [
        {
          status: 200,
          description: 'One line of JSON for each call.',
          media: { 'application/x-ndjson': 'The calls.' },
        },
      ],
      refusals: [400, 401, 403],
    },
    {
      method: 'get',
      path: '/api/tool-queue/dead',
      operationId: 'listDeadToolCalls',
      summary: 'List dead letters of the tool queue',
      parameters: [
        query('limit', 'Page size.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
        query('after', '`nextCursor` of the previous page.'),
      ],
      replies: [json(200, 'DeadToolCallPage', 'A page of them.')],
      refusals: [400, 401, 403],
    },
    {
      method: 'post',
      path: '/api/tool-queue/dead/{letter}/redrive',
      operationId: 'redriveDeadToolCall',
      summary: 'Send the call again',
      replies: [json(200, 'DeadToolCall', 'It is sent.')],
      refusals: [401, 403, 404, 409],
    },
    {
      method: 'post',
      path: '/api/tool-queue/calls/{call}/cancel',
      operationId: 'cancelQueuedCall',
      summary: 'Cancel an isolated tool call',
      replies: [json(200, 'CancelledCall', 'Its status.')],
      refusals: [401, 403, 404],
    },
  ],
};
