import { idempotencyKey, json, type RouteGroup } from '../route.js';

/** Workflows, as OR3 clients start them. */
export const workflowRoutes: RouteGroup = {
  tag: 'Workflows',
  description:
    'Workflows as jobs. Also available as `model: "workflow/<slug>"` under /v1, and over GraphQL. See docs/workflows.md.',
  errors: 'Error',
  routes: [
    {
      method: 'post',
      path: '/api/workflows/background',
      operationId: 'startWorkflow',
      summary: 'Start a workflow',
      parameters: [idempotencyKey],
      body: 'StartWorkflow',
      replies: [json(200, 'StartedWorkflow', 'Its job.')],
      refusals: [400, 401, 403, 404, 409, 413, 422, 429, 503],
    },
    {
      method: 'post',
      path: '/api/workflows/hitl',
      operationId: 'answerWorkflow',
      summary: 'Decide a request of a workflow',
      body: 'WorkflowAnswer',
      replies: [json(200, 'Ok', 'It is answered.')],
      refusals: [400, 401, 403, 404, 409, 410, 413, 422, 429],
    },
  ],
};
