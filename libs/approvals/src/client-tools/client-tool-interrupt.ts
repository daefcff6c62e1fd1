import type { NewInterrupt } from '#jobs';
import type { ToolDefinition } from '#models';
import type { OnClientTimeout, ToolEffect } from '#tools';

/** How long a call waits for a client unless the request sets another time. */
export const CLIENT_WAIT_MS = 24 * 3_600_000;

/** A committed call that a client is to run. */
export interface ClientCall {
  /** Id of the interrupt. */
  readonly id: string;
  /** The ledger row. */
  readonly toolCallId: string;
  readonly job: {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly threadId: string | null;
    readonly createdBy: string | null;
    readonly principal: string;
  };
  /** `arguments`: JSON text, as it is to be run. */
  readonly call: { readonly callId: string; readonly name: string; readonly arguments: string };
  /** As the request advertised it. */
  readonly definition: ToolDefinition;
  /** The device it is bound to; null: any of the user's. */
  readonly deviceId: string | null;
  readonly wait?: { readonly timeoutMs?: number; readonly onTimeout?: OnClientTimeout };
  /** Whether its result comes with a later request for the job, instead of from a client that claims it. */
  readonly isHandedOver?: boolean;
  readonly effect: ToolEffect;
  /** How long the tool may run once a client has validated its claim, ms. */
  readonly toolTimeoutMs: number;
  /** Ms since the epoch; default: now. */
  readonly now?: number;
}

/** What the request of a `client_tool` interrupt shows, and what serving it goes by. */
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
 * The open request for a client to run a call; commit it with the call as `awaiting_client`. It ends after the declared
 * timeout; one that waits on does so for 24 hours, or for its timeout where that is longer.
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
