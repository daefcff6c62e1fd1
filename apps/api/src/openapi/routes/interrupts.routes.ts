import { interruptStatuses, listedKinds } from '#jobs';

import { json, type Route, type RouteGroup } from '../route.js';

const text = { type: 'string' } as const;

const decide = (path: string, isNamed: boolean): Route => ({
  method: 'post',
  path,
  operationId: isNamed ? 'decideInterrupt' : 'decideNothing',
  summary: isNamed ? 'Decide a request' : 'The same without an id: always 400',
  body: 'Decision',
  replies: isNamed ? [json(200, 'Interrupt', 'It is settled.')] : [],
  refusals: [400, 401, 403, 404, 409, 410, 422],
});

/** What jobs wait for. */
export const interruptRoutes: RouteGroup = {
  tag: 'Interrupts',
  description: 'Requests that wait for a person: approvals, forms, unknown outcomes. See docs/interrupts.md.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/api/interrupts',
      operationId: 'listInterrupts',
      summary: 'List requests, newest first',
      parameters: [
        { name: 'status', in: 'query', description: 'Only these.', schema: { ...text, enum: interruptStatuses } },
        { name: 'kind', in: 'query', description: 'Only these.', schema: { ...text, enum: listedKinds } },
        { name: 'jobId', in: 'query', description: 'Of this job.' },
        { name: 'rootJobId', in: 'query', description: 'Of this job and all its sub-jobs.' },
        { name: 'threadId', in: 'query', description: 'Of this thread.' },
        {
          ...{ name: 'limit', in: 'query', description: 'Page size.' },
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        },
        { name: 'after', in: 'query', description: '`nextCursor` of the previous page.' },
      ],
      replies: [json(200, 'InterruptPage', 'A page of them.')],
      refusals: [400, 401],
    },
    {
      method: 'get',
      path: '/api/interrupts/{id}',
      operationId: 'getInterrupt',
      summary: 'Get a request',
      replies: [json(200, 'Interrupt', 'The request.')],
      refusals: [401, 404],
    },
    decide('/api/interrupts/{id}/decision', true),
    decide('/api/interrupts/decision', false),
  ],
};
