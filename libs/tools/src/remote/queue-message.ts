import { z } from 'zod';

import { idFrom } from '#platform';

/** The messages on the queues of isolated tools. A message is only a signal; the ledger row decides. */

const id = z.uuid();
const whole = z.int().min(0);
/** The position of the call. Every message contains it, and a reader trusts it only after the lock of the job's row. */
const place = { correlation_id: id, workspace_id: id, job_id: id } as const;

/** A request to run a call, for a tool process. */
const functionRequest = z.object({
  type: z.literal('function_request'),
  ...place,
  session_id: id.nullable(),
  user_email: z.string().optional(),
  tool_name: z.string(),
  /** The arguments to run, as JSON text. */
  arguments: z.string(),
  metadata: z.object({
    model: z.string(),
    idempotency_key: z.string(),
    compliance_level: z.string().optional(),
    allow_edit: z.boolean(),
    admin_required: z.boolean(),
    /** Maximum time that the call may have waited when a process claims it. */
    ttl_ms: z.int().min(1),
  }),
  streaming: z.boolean(),
  reply_to: z.string(),
  principal_id: z.string(),
  /** The key under which the slots of a tool process count calls of one tool; absent in requests of older builds. */
  tool_key: z.string().optional(),
  exec_epoch: whole,
  attempt: whole,
  timestamp: z.number(),
});

/** A request to stop a call. */
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

/** The progress of a call, for display only. */
const toolProgress = z.object({
  type: z.literal('tool_progress'),
  ...place,
  /** 1, 2, 3 … within an attempt. */
  seq: z.int().min(1),
  chunk: z.union([z.string(), progressParts]),
  is_final_chunk: z.boolean(),
  timestamp: z.number(),
  exec_epoch: whole,
});

const sentFile = z.object({ name: z.string(), mime: z.string(), data: z.base64() });

/** The response of the process that ran a call. */
const toolResponse = z.object({
  type: z.literal('tool_response'),
  ...place,
  status: z.enum(['success', 'error', 'timed_out', 'cancelled']),
  result: z
    .object({
      content: z.string(),
      success: z.boolean(),
      bytes: whole.optional(),
      /** Artifacts that the process could not store, in the order in which the content names them. `data` is base64. */
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
  /** Whether the tool's handler was entered. False: it certainly had no effect. */
  started: z.boolean(),
  /** The call was not run because it now needs approval. A reader that does not know this field denies the call, because of the status. */
  needs_approval: z.boolean().optional(),
});

export type FunctionRequest = z.infer<typeof functionRequest>;
export type CancelRequest = z.infer<typeof cancelRequest>;
export type ToolProgressMessage = z.infer<typeof toolProgress>;
export type ToolResponse = z.infer<typeof toolResponse>;

const requests = z.discriminatedUnion('type', [functionRequest, cancelRequest]);
const results = z.discriminatedUnion('type', [toolProgress, toolResponse]);

/**
 * The id of the message with the response of an attempt. The queue stores at most one such message, and the sweeper finds it without reading
 * other messages.
 */
export function responseId(callId: string, epoch: number): string {
  return idFrom(callId, 'response', epoch);
}

/** Parses a message of `tool-execution`; null: it is invalid. */
export function readRequest(data: unknown): FunctionRequest | CancelRequest | null {
  return requests.safeParse(data).data ?? null;
}

/** Parses a message of `tool-results`; null: it is invalid. */
export function readResult(data: unknown): ToolProgressMessage | ToolResponse | null {
  return results.safeParse(data).data ?? null;
}

const withFiles = z.looseObject({ result: z.looseObject({ files: z.unknown().nonoptional() }) });

/** Whether a message of `tool-results` contains files, even if the rest of it is invalid. */
export function hasFiles(data: unknown): boolean {
  return withFiles.safeParse(data).success;
}

/** The message without its files. The content of the result still names them. */
export function withoutFiles(data: unknown): unknown {
  const message = withFiles.safeParse(data).data;
  return message === undefined ? data : { ...message, result: { ...message.result, files: undefined } };
}
