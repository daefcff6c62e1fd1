import { z } from 'zod';

import { claimBody, claimReference, resultBody } from '../client-tools/to-client-tool-request.js';
import { startBody } from '../jobs/start-body.js';
import { executeBody } from '../openai/execute/execute-request.js';
import { completionBody } from '../openai/request/completion-body.js';
import { interruptSchemas } from './interrupt-schemas.js';
import { jobSchemas } from './job-schemas.js';
import { notificationSchemas } from './notification-schemas.js';
import { openAiSchemas } from './openai-schemas.js';
import { operationSchemas } from './operation-schemas.js';

/** Errors under `/api`. */
const error = z.looseObject({
  error: z.string().meta({ description: 'A sentence for people.' }),
  code: z.string().meta({ description: 'For programs; PROTOCOL.md lists all there are.' }),
  requestId: z.string(),
  field: z.string().optional().meta({ description: 'What of the request is at fault.' }),
});

/**
 * All that goes in and out, by name. Bodies are the schemas that requests are read with. Replies are tied to the types that
 * controllers return: one that changes does not compile here any more.
 */
export const schemas = {
  StartJob: startBody,
  ToolClaim: claimBody,
  ToolClaimReference: claimReference,
  ToolResult: resultBody,
  ChatCompletionRequest: completionBody,
  ExecuteToolRequest: executeBody,
  Error: error,
  ...jobSchemas,
  ...interruptSchemas,
  ...notificationSchemas,
  ...openAiSchemas,
  ...operationSchemas,
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type SchemaName = keyof typeof schemas;
