import { jobEventMeanings } from '#jobs';

import { idempotencyKey, json, type Route, type RouteGroup, type RouteParameter } from '../route.js';

const whole = { type: 'integer', minimum: 0 } as const;
const query = (name: string, description: string, schema: object = whole): RouteParameter => ({
  ...{ name, in: 'query', description, schema },
});

const attempt = query('attempt', 'The `attempt` that the offset was counted in.');
const offset = query('offset', 'UTF-16 code units of content that the client has.');

const events = Object.entries(jobEventMeanings)
  .map(([kind, { body, meaning }]) => `- \`${kind}\` (${body}): ${meaning}`)
  .join('\n');

const start = (path: string, operationId: string, rest: Pick<Route, 'summary' | 'replies'>): Route => ({
  method: 'post',
  ...{ path, operationId },
  description:
    'An OpenAI chat request with control fields, each of which may have a leading underscore. The job keeps running in the background when the client disconnects.',
  parameters: [idempotencyKey],
  body: 'StartJob',
  refusals: [400, 401, 403, 404, 409, 413, 422, 429, 503],
  ...rest,
});

/** Jobs in the background. */
export const jobRoutes: RouteGroup = {
  tag: 'Jobs',
  description: 'Background jobs: start, follow, cancel. See docs/clients.md.',
  errors: 'Error',
  routes: [
    start('/api/jobs', 'startJob', {
      summary: 'Start a chat job',
      replies: [
        json(202, 'AdmittedJob', 'It is accepted.'),
        json(200, 'AdmittedJob', 'The key had started it before.'),
      ],
    }),
    start('/api/openrouter/stream', 'startOr3Job', {
      summary: 'Start a chat job, as OR3 clients do (`_background: true`)',
      replies: [json(200, 'AdmittedJob', 'It is accepted.')],
    }),
    {
      method: 'get',
      path: '/api/jobs/{id}/status',
      operationId: 'getJobStatus',
      summary: 'Get the status of a job',
      parameters: [offset, query('reasoning_offset', 'The same for reasoning.'), attempt],
      replies: [json(200, 'JobStatus', 'Its status, with the text that the client lacks.')],
      refusals: [400, 401, 404],
    },
    {
      method: 'get',
      path: '/api/jobs/{id}/stream',
      operationId: 'streamJob',
      summary: 'Follow a job',
      description: `Server-sent events. \`id\` is the event's number, \`event\` its kind, \`data\` JSON with \`seq\`, \`jobId\`, \`at\`, \`attempt\` and:\n\n${events}\n\nBeside these: \`snapshot\` (the job as it stands, with which a stream may begin) and \`closed\` (why the server ends the stream).`,
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          description: 'The last event number that the client received.',
          schema: whole,
        },
        query('after', 'The same, where no header can be sent.'),
        query('format', '`or3`: status objects, as OR3 clients read them.', { type: 'string', enum: ['or3'] }),
        { ...offset, description: 'With `format=or3`: the length of the content that the client received.' },
        attempt,
      ],
      replies: [
        { status: 200, description: 'The stream.', media: { 'text/event-stream': 'See above.' } },
        { status: 204, description: 'The job ended, and the client has received all events.' },
      ],
      refusals: [400, 401, 404, 429],
    },
    {
      method: 'post',
      path: '/api/jobs/{id}/abort',
      operationId: 'abortJob',
      summary: 'Cancel a job',
      replies: [json(200, 'AbortReply', 'Whether it is cancelled, or will be.')],
      refusals: [401, 403],
    },
    ...['/api/jobs/admission', '/api/jobs/admission/{admissionId}'].map((path): Route => ({
      ...{ method: 'get', path, operationId: path.endsWith('}') ? 'getAdmission' : 'getNoAdmission' },
      summary: path.endsWith('}') ? 'Get the job of an idempotency key' : 'The same without a key: always 400',
      replies: path.endsWith('}') ? [json(200, 'AdmittedJob', 'The job.')] : [],
      refusals: [400, 401, 404],
    })),
    {
      method: 'post',
      path: '/api/jobs/admission-abort',
      operationId: 'abortAdmission',
      summary: 'Cancel the job that a key started or will start',
      body: 'AdmissionAbort',
      replies: [json(200, 'AdmissionAbortReply', 'Its status.')],
      refusals: [400, 401, 403],
    },
  ],
};
