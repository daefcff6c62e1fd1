import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiResponse, ApiSecurity, getSchemaPath } from '@nestjs/swagger';
import type { z } from 'zod';

import { schemaNames } from './schema-names.js';

/** The description of each error status. */
const refusals = {
  400: 'The request is invalid.',
  401: 'The credential is missing or invalid.',
  403: 'The credential does not allow this.',
  404: 'Not found, or not visible to this credential.',
  409: 'The request conflicts with the current state.',
  410: 'The request expired.',
  413: 'The request is too large.',
  415: 'The server does not accept this type of content.',
  422: 'The request is well-formed but cannot be processed.',
  429: 'Too many requests. Retry after `Retry-After`.',
  500: 'Internal error.',
  501: 'The feature is disabled on this server.',
  503: 'The server is busy. Retry after `Retry-After`.',
  504: 'The response took too long. The job continues in the background.',
} as const;

type Refusal = keyof typeof refusals;

/**
 * Documents the JSON body of a route that parses the body itself, with the same schema. `example`: a body for this route, if it accepts other
 * bodies than the `example` of the schema.
 */
export const ApiJsonBody = (schema: z.ZodType, example?: object) =>
  ApiBody({ schema: referenceTo(schema), ...(example !== undefined && { examples: { example: { value: example } } }) });

/** Documents the JSON response of a route. */
export const ApiReply = (status: number, schema: z.ZodType, description: string) =>
  ApiResponse({ status, description, standardSchema: schema });

/** Documents a response that is not JSON, or JSON among other media types. `media`: the content of each type. */
export function ApiMediaReply(
  status: number,
  description: string,
  media: Readonly<Record<string, string | z.ZodType>>,
): MethodDecorator {
  const content = Object.entries(media).map(([type, held]): [string, object] => [
    type,
    { schema: typeof held === 'string' ? { type: 'string', description: held } : referenceTo(held) },
  ]);
  return ApiResponse({
    status,
    description,
    ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
  });
}

/** Documents the error responses of a route under `/api`. */
export const ApiRefusals = (...statuses: readonly Refusal[]) => refusalsOf('Error', statuses);

/** Documents the error responses of a route under `/v1`. */
export const ApiOpenAiRefusals = (...statuses: readonly Refusal[]) => refusalsOf('OpenAiError', statuses);

export const ApiIdempotencyKey = () =>
  ApiHeader({
    name: 'Idempotency-Key',
    description: 'Makes the start safe to repeat: the same key and body mean the same job.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  });

export const ApiOnDisconnect = () =>
  ApiHeader({
    name: 'X-On-Disconnect',
    description: 'What happens to the job when the client disconnects.',
    schema: { type: 'string', enum: ['continue', 'cancel'], default: 'continue' },
  });

/** Documents a route without authentication, with the empty security requirement. */
export const ApiPublic = () => ApiSecurity({});

/** A reference to a named schema. */
export function referenceTo(schema: z.ZodType): { readonly $ref: string } {
  const id = schemaNames.get(schema)?.id;
  if (id === undefined) throw new TypeError('Only a named schema can be referred to');
  return { $ref: getSchemaPath(id) };
}

function refusalsOf(schema: 'Error' | 'OpenAiError', statuses: readonly Refusal[]): MethodDecorator & ClassDecorator {
  return applyDecorators(
    ...statuses.map((status) =>
      ApiResponse({ status, description: refusals[status], schema: { $ref: getSchemaPath(schema) } }),
    ),
  );
}
