import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiParam, ApiQuery } from '@nestjs/swagger';

import { jobEventMeanings } from '#jobs';
import { ApiMediaReply, ApiRefusals } from '#platform/api';

const events = Object.entries(jobEventMeanings)
  .map(([kind, { body, meaning }]) => `- \`${kind}\` (${body}): ${meaning}`)
  .join('\n');

const whole = { type: 'integer', minimum: 0 } as const;
const query = (name: string, description: string, schema: object = whole) =>
  ApiQuery({ name, description, schema, required: false });

/** Documents the stream of a job. It reads its parameters from the request itself: they decide before anything is written. */
export const ApiJobStream = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'streamJob',
      summary: 'Follow a job',
      description: `Server-sent events. \`id\` is the event's number, \`event\` its kind, \`data\` JSON with \`seq\`, \`jobId\`, \`at\`, \`attempt\` and:\n\n${events}\n\nBeside these: \`snapshot\` (the job as it stands, with which a stream may begin) and \`closed\` (why the server ends the stream).`,
    }),
    ApiParam({ name: 'id', schema: { type: 'string' } }),
    ApiHeader({
      name: 'Last-Event-ID',
      description: 'The last event number that the client received.',
      schema: whole,
    }),
    query('after', 'The same, where no header can be sent.'),
    query('format', '`or3`: status objects, as OR3 clients read them.', { type: 'string', enum: ['or3'] }),
    query('offset', 'With `format=or3`: the length of the content that the client received.'),
    query('attempt', 'The `attempt` that the offset was counted in.'),
    ApiMediaReply(200, 'The stream.', { 'text/event-stream': 'See above.' }),
    ApiMediaReply(204, 'The job ended, and the client has received all events.', {}),
    ApiRefusals(400, 401, 404, 429),
  );
