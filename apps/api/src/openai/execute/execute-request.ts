import { createHash } from 'node:crypto';

import { z } from 'zod';

import { problemInWords, toStorable } from '#platform';
import { named } from '#platform/api';
import { canonicalJson, mayBeRounded, ROUNDED_PROBLEM } from '#tools';

import { fieldProblem } from '../request/invalid-body.js';
import { invalidArguments, invalidExecuteBody } from './execute.errors.js';

/** A body of `POST /v1/tools/execute`. */
export const executeBody = named(
  'ExecuteToolRequest',
  z
    .object({
      agent: z.string().min(1).meta({ description: 'The agent that has the tool: its id, slug or name.' }),
      tool_name: z.string().min(1).meta({ description: 'A tool of the agent that runs on the server.' }),
      arguments: z
        .union([z.record(z.string(), z.unknown()), z.string()])
        .meta({ description: 'The arguments, which match the schema of the tool: an object, or its JSON text.' }),
      tool_call_id: z.string().min(1).max(256).nullish().meta({
        description:
          'A call that waits for a client with this key. The server executes it once in place of the client.',
      }),
    })
    .meta({ example: { agent: 'my-agent', tool_name: 'calculate', arguments: { expression: '17 * 23' } } }),
);

/** A request to execute one call. */
export interface ExecuteRequest {
  readonly agent: string;
  readonly toolName: string;
  /** JSON text. */
  readonly arguments: string;
  /** Null: a new call. */
  readonly toolCallId: string | null;
  /** SHA-256 (hex) of the requested call, independent of the order of its members. */
  readonly bodyHash: string;
}

/**
 * Throws `OpenAiError` `Invalid request body`, and `Invalid arguments` for numbers that may have been rounded. Unknown fields
 * are ignored. Pure.
 */
export function parseExecuteRequest(body: unknown): ExecuteRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidExecuteBody();
  const parsed = executeBody.safeParse(storable(body), { error: problemInWords });
  if (!parsed.success) throw invalidExecuteBody(fieldProblem(parsed.error));
  const { agent, tool_name: toolName, arguments: given, tool_call_id: toolCallId = null } = parsed.data;
  // Numbers beyond 2^53 lost digits when the body was parsed.
  if (typeof given !== 'string' && mayBeRounded(given)) throw invalidArguments(ROUNDED_PROBLEM);
  const request = { agent, toolName, arguments: typeof given === 'string' ? given : JSON.stringify(given), toolCallId };
  const bodyHash = createHash('sha256')
    .update(canonicalJson(['/v1/tools/execute', request]))
    .digest('hex');
  return { ...request, bodyHash };
}

/** Replaces characters that Postgres cannot store in a text. */
function storable(body: unknown): unknown {
  try {
    return toStorable(body);
  } catch {
    throw invalidExecuteBody(); // nested too deep
  }
}
