import type { SchemaName } from './schemas.js';

/** A parameter of the query, or a header. */
export interface RouteParameter {
  readonly name: string;
  readonly in: 'query' | 'header';
  readonly description: string;
  /** Default: text. */
  readonly schema?: object;
  readonly required?: boolean;
}

/** What comes back: JSON by a schema, or something else by its media type. */
export interface RouteReply {
  readonly status: number;
  readonly description: string;
  readonly schema?: SchemaName;
  /** Beside or instead of JSON: media types, each with what it holds. */
  readonly media?: Readonly<Record<string, string>>;
}

/** One route of the REST endpoints, as the document describes it. Parameters of the path follow from the path. */
export interface Route {
  readonly method: 'get' | 'post';
  /** As OpenAPI writes it: `/api/jobs/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly RouteParameter[];
  readonly body?: SchemaName;
  /** What one sends, beside a credential: nothing, if this says so. */
  readonly isPublic?: true;
  readonly replies: readonly RouteReply[];
  /** Statuses of refusals; their shape is that of the door. */
  readonly refusals: readonly number[];
}

/** Routes of one subject. */
export interface RouteGroup {
  readonly tag: string;
  readonly description: string;
  /** In whose words errors are written. */
  readonly errors: 'Error' | 'OpenAiError';
  readonly routes: readonly Route[];
}

/** A reply in JSON. */
export function json(status: number, schema: SchemaName, description: string): RouteReply {
  return { status, schema, description };
}

export const idempotencyKey: RouteParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Makes the start safe to repeat: the same key and body mean the same job.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
};
