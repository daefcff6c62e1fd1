import { z } from 'zod';

import { idFrom } from '#platform';

/** What travels on the queues of the isolated tools. A message decides nothing: the ledger row is the truth. */

const id = z.uuid();
const whole = z.int().min(0);
/** Where the call is. Carried by every message, and believed by none of its readers before they hold the job's row. */
const place = { correlation_id: id, workspace_id: id, job_id: id } as const;

/** A call that a tool process is to run. */
const functionRequest = z.object({
  type: z.literal('function_request'),
  ...place,
  session_id: id.nullable(),
  user_email: z.string().optional(),
  tool_name: z.string(),
  /** JSON text, as executed. */
  arguments: z.string(),
  metadata: z.object({
    model: z.string(),
    idempotency_key: z.string(),
    compliance_level: z.string().optional(),
    allow_edit: z.boolean(),
    admin_required: z.boolean(),
    /** How long the call may have waited when it is taken. */
    ttl_ms: z.int().min(1),
  }),
  streaming: z.boolean(),
  reply_to: z.string(),
  principal_id: z.string(),
  /** What the slots of a tool process count as one tool; absent in requests of older builds. */
  tool_key: z.string().optional(),
  exec_epoch: whole,
  attempt: whole,
  timestamp: z.number(),
});

/** Requests that a call ends. */
const cancelRequest = z.object({
  type: z.literal('cancel_request'),
  ...place,
  issued_by: z.string(),
  timestamp: z.number(),
});

const progressParts = z.object({
  progress: z.number().optional(),
  total: z.number().optional(),
  message: z.string().optional(),
});

/** How far a call is. For display only. */
const toolProgress = z.object({
  type: z.literal('tool_progress'),
  ...place,
  /** 1, 2, 3 … within one attempt. */
  seq: z.int().min(1),
  chunk: z.union([z.string(), progressParts]),
  is_final_chunk: z.boolean(),
  timestamp: z.number(),
  exec_epoch: whole,
});

const sentFile = z.object({ name: z.string(), mime: z.string(), data: z.base64() });

/** How a call ended in the process that ran it. */
const toolResponse = z.object({
  type: z.literal('tool_response'),
  ...place,
  status: z.enum(['success', 'error', 'timed_out', 'cancelled']),
  result: z
    .object({
      content: z.string(),
      success: z.boolean(),
      bytes: whole.optional(),
      /** Artifacts that the process could not store, in the order in which the content names them. `data` in base64. */
      files: z.array(sentFile).optional(),
    })
    .nullable(),
  error: z
    .object({
      phase: z.enum(['validation', 'approval', 'execution', 'timeout']),
      message: z.string(),
      code: z.enum(['tool_unavailable', 'hook_denied', 'hook_failed']).optional(),
    })
    .nullable(),
  timestamp: z.number(),
  exec_epoch: whole,
  attempt: whole,
  /** Whether the tool's handler was entered; false: it surely did nothing. */
  started: z.boolean(),
  /** It was not run because it now needs approval: a reader that does not know this code denies it, as the status does. */
  needs_approval: z.boolean().optional(),
});

export type FunctionRequest = z.infer<typeof functionRequest>;
export type CancelRequest = z.infer<typeof cancelRequest>;
export type ToolProgressMessage = z.infer<typeof toolProgress>;
export type ToolResponse = z.infer<typeof toolResponse>;

const requests = z.discriminatedUnion('type', [functionRequest, cancelRequest]);
const results = z.discriminatedUnion('type', [toolProgress, toolResponse]);

/** The id of the message with the response of an attempt: at most one is stored, and the sweeper finds it without reading the others. */
export function responseId(callId: string, epoch: number): string {
  return idFrom(callId, 'response', epoch);
}

/** A message of `tool-execution`; null: it cannot be read. */
export function readRequest(data: unknown): FunctionRequest | CancelRequest | null {
  return requests.safeParse(data).data ?? null;
}

/** A message of `tool-results`; null: it cannot be read. */
export function readResult(data: unknown): ToolProgressMessage | ToolResponse | null {
  return results.safeParse(data).data ?? null;
}

const withFiles = z.looseObject({ result: z.looseObject({ files: z.unknown().nonoptional() }) });

/** Whether a message of `tool-results` carries files. The rest of it may be unreadable. */
export function hasFiles(data: unknown): boolean {
  return withFiles.safeParse(data).success;
}

/** The message without its files. The content of the result still names them. */
export function withoutFiles(data: unknown): unknown {
  const message = withFiles.safeParse(data).data;
  return message === undefined ? data : { ...message, result: { ...message.result, files: undefined } };
}
