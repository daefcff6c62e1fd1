import type { NewInterrupt } from '#jobs';
import type { ToolDefinition } from '#models';
import type { OnClientTimeout, ToolEffect } from '#tools';

/** How long a call waits for a client unless the request sets another time. */
export const CLIENT_WAIT_MS = 24 * 3_600_000;

/** A committed call that a client must run. */
export interface ClientCall {
  /** The id of the interrupt. */
  readonly id: string;
  /** The id of the ledger row. */
  readonly toolCallId: string;
  readonly job: {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly threadId: string | null;
    readonly createdBy: string | null;
    readonly principal: string;
  };
  /** `arguments`: the JSON text to run the call with. */
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string };
  /** The definition in the request of the client. */
  readonly definition: ToolDefinition;
  /** The device that the call is bound to; null: any device of the user. */
  readonly deviceId: string | null;
  readonly wait?: { readonly timeoutMs?: number; readonly onTimeout?: OnClientTimeout };
  /** Whether a later request of the client delivers the result. Otherwise a client claims the call. */
  readonly isHandedOver?: boolean;
  readonly effect: ToolEffect;
  /** How long the tool may run once a client has validated its claim, ms. */
  readonly toolTimeoutMs: number;
  /** Ms since the epoch; default: now. */
  readonly now?: number;
}

/** The contents of a `client_tool` interrupt: the fields that a client sees, and the settings that apply while a client runs the call. */
export interface ClientToolRequest {
  readonly tool: string;
  readonly callId: string;
  readonly arguments: string;
  readonly definition: ToolDefinition;
  readonly effect: ToolEffect;
  readonly toolTimeoutMs: number;
  readonly onTimeout: OnClientTimeout;
  readonly deviceId: string | null;
  readonly handedOver?: true;
}

/**
 * Creates the open request for a client to run a call. Commit it in the transaction that sets the call to `awaiting_client`. It expires after
 * the declared timeout; with `onTimeout: wait`, after 24 hours, or after the timeout if that is longer.
 */
export function clientToolInterrupt(client: ClientCall): NewInterrupt {
  const { id, toolCallId, job, call, definition, deviceId, effect, toolTimeoutMs, now = Date.now() } = client;
  const { timeoutMs = CLIENT_WAIT_MS, onTimeout = 'wait' } = client.wait ?? {};
  const request: ClientToolRequest = {
    tool: call.name,
    callId: call.callId,
    arguments: call.arguments,
    definition,
    effect,
    toolTimeoutMs,
    onTimeout,
    deviceId,
    ...(client.isHandedOver === true ? { handedOver: true } : {}),
  };
  return {
    id,
    kind: 'client_tool',
    title: `Run "${call.name}" in a client`,
    request: { ...request },
    threadId: job.threadId,
    toolCallId,
    callId: call.callId,
    tool: call.name,
    requester: job.createdBy,
    principal: job.principal,
    deviceId,
    expireAction: onTimeout,
    expiresAt: now + (onTimeout === 'wait' ? Math.max(timeoutMs, CLIENT_WAIT_MS) : timeoutMs),
  };
}
