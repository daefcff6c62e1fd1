import type { ParentCall, PartRow, WhenBusy } from '#jobs';
import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import type { Secret } from '#platform';
import type { ApprovalPolicy, ClientSide, ToolRuntime } from '#tools';

import type { AgentSelection } from './agent.js';
import type { ProviderDownTerms } from './outages/provider-outages.service.js';

/** A request to answer in a thread, in the background. What the doors (GraphQL, REST, OpenAI) have in common. */
export interface StartChat {
  /** Our id of the thread, or the client's own. Null: a new thread. */
  readonly threadRef: string | null;
  /** Create the thread when `threadRef` is unknown; otherwise an unknown thread is `not_found`. */
  readonly createThread: boolean;
  /** `threadRef` was made for this job: nobody can have used it. */
  readonly threadIsNew?: boolean;
  /** The client's id of the assistant message to be written. */
  readonly messageClientId: string | null;
  /**
   * Who answers; absent: nobody in particular. Its tools are offered beside those that clients run, and bound those of the
   * server; its instructions come first, its parameters win.
   */
  readonly agent?: AgentSelection;
  /** Null: the default of the provider. An agent that has a model uses that. */
  readonly model: string | null;
  /** What is said now; its last entry is usually the user's. */
  readonly messages: readonly ChatMessage[];
  /**
   * `thread`: the stored conversation comes before `messages`, all of which join it. `request`: `messages` are the whole
   * conversation (as OpenAI clients send it) and only those after the last assistant or tool message join the thread.
   */
  readonly history: 'thread' | 'request';
  /** So many of the messages that would join the thread stand in it already; the first of them. Absent: none. */
  readonly alreadySaid?: number;
  /** Only these may be called. Names of server tools, or definitions as a request advertises them. */
  readonly tools: readonly (string | ToolDefinition)[];
  readonly toolRuntimes: Readonly<Record<string, ToolRuntime>>;
  /** Absent: no client will run tools, and a call for one is skipped. */
  readonly client?: ClientSide;
  /** `reject`: the job is cancelled when it, or one that it starts, asks a person. Absent: it waits. */
  readonly humanWait?: 'reject';
  /** Rules of this request's own; they only tighten the policy of the workspace. */
  readonly toolApproval?: ApprovalPolicy;
  /** Of a job that a call of another one starts: that call, the layers of the agents above it, and how many rounds it has at most. */
  readonly below?: {
    readonly parent: ParentCall;
    readonly callerPolicies: readonly ApprovalPolicy[];
    readonly maxRounds: number;
  };
  /** Counts before the instance's and the agent's settings while the model provider is down. */
  readonly providerDown?: ProviderDownTerms;
  readonly toolChoice: ToolChoice | null;
  readonly parameters: ModelParameters;
  readonly whenBusy: WhenBusy | null;
  /** 1 to 255 visible ASCII characters. `requestHash`: SHA-256 (hex) of what the client asked for. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** For this job only; stored encrypted and erased when the job ends. */
  readonly providerKey: Secret | null;
  readonly backgroundMode: unknown;
  /** Rows that are written with the job, or keep it from being accepted. */
  readonly beside?: (job: { readonly workspaceId: string; readonly jobId: string }) => readonly PartRow[];
}
