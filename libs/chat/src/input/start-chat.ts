import type { ApprovalPolicy } from '#approvals';
import type { Idempotency, JobLabels, ParentCall, PartRow, WhenBusy } from '#jobs';
import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import type { Secret } from '#platform';
import type { ClientSide, ToolRuntime } from '#tools';

import type { ExternalReference } from '../external/external-chats.js';
import type { ProviderDownOptions } from '../outages/provider-outages.service.js';
import type { AgentSelection } from './agent.js';
import type { DirectCall } from './direct-call.js';

/** The input of a chat job, the same for all APIs. GraphQL, REST, the OpenAI API and sub-jobs each have one parser that produces it. */
export interface StartChat {
  /** The server id of the thread, or the client's id. Null: a new thread. */
  readonly threadRef: string | null;
  /** Creates the thread if `threadRef` is unknown; otherwise an unknown thread is `not_found`. */
  readonly createThread: boolean;
  /** `threadRef` was created for this job, so no row refers to it. */
  readonly threadIsNew?: boolean;
  /** The client's id of the assistant message to be written. */
  readonly messageClientId: string | null;
  /**
   * Absent: no agent. An agent limits the server tools to its own, puts its instructions first, and its parameters override those of the
   * request.
   */
  readonly agent?: AgentSelection;
  /** Null: the default of the provider. If the agent has a model, that model is used instead. */
  readonly model: string | null;
  /** Labels of the job. Absent: none. */
  readonly labels?: JobLabels;
  /** The new messages; the last one is usually the user's. */
  readonly messages: readonly ChatMessage[];
  /**
   * `thread`: the stored conversation comes before `messages`, all of which join it. `request`: `messages` are the whole conversation (as
   * OpenAI clients send it), and only those after the last assistant or tool message join the thread.
   */
  readonly history: 'thread' | 'request';
  /** Of the messages that would join the thread: the number of leading ones that it already contains. Default 0. */
  readonly alreadyStored?: number;
  /** The only tools that may be called: names of server tools, or tool definitions. */
  readonly tools: readonly (string | ToolDefinition)[];
  readonly toolRuntimes: Readonly<Record<string, ToolRuntime>>;
  /** Absent: no client runs tools, and a call of a client tool is skipped. */
  readonly client?: ClientSide;
  /** `reject`: the job is cancelled if it or a sub-job opens a request to a person. Absent: the job waits. */
  readonly humanWait?: 'reject';
  /** The request's layer of the approval policy; it only tightens the workspace's policy. */
  readonly toolApproval?: ApprovalPolicy;
  /** For a sub-job: the call that starts it, the policy layers of the agents of its parent jobs, and its limit of rounds. */
  readonly subJob?: {
    readonly parent: ParentCall;
    readonly callerPolicies: readonly ApprovalPolicy[];
    readonly maxRounds: number;
  };
  /** Takes precedence, while the model provider is down, over the settings of the installation and the agent. */
  readonly providerDown?: ProviderDownOptions;
  readonly toolChoice: ToolChoice | null;
  readonly parameters: ModelParameters;
  readonly whenBusy: WhenBusy | null;
  /** How many jobs may be queued behind the active one of the thread. Default 10. */
  readonly maxQueued?: number;
  /** The job is accepted now and begins at this instant (ms since the epoch). Absent or past: it begins at once. */
  readonly startAt?: number;
  readonly idempotency: Idempotency | null;
  /** A provider key for this job only, stored encrypted and erased when the job ends. */
  readonly providerKey: Secret | null;
  readonly backgroundMode: unknown;
  /** The chat is in another system, where the job reads its messages. With `call`, the job has no thread and only makes this call. */
  readonly external?: { readonly reference: ExternalReference; readonly call?: DirectCall };
  /** Rows to insert in the transaction that inserts the job. If one cannot be inserted, the start fails. */
  readonly extraRows?: (job: { readonly workspaceId: string; readonly jobId: string }) => readonly PartRow[];
}
