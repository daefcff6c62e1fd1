import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import { type ApprovalPolicy, type ClientSide, mayStartSubJobs, type ToolRuntime } from '#tools';

import type { AgentCandidates, ChosenAgent } from './agent.js';
import type { DirectCall } from './direct-call.js';
import type { ProviderDownTerms } from './outages/provider-outages.service.js';

/** What a chat job was asked to do, as it is stored on its row (`chatFormat`). Never holds a secret. */
export interface ChatInput {
  readonly messages: readonly ChatMessage[];
  readonly history: 'thread' | 'request';
  /** So many messages that were said since the last answer stand in the thread already. Absent: none. */
  readonly alreadySaid?: number;
  /** Definitions as the request advertised them; a name stands for the server's own tool of that name. */
  readonly tools: readonly (string | ToolDefinition)[];
  readonly toolRuntimes?: Readonly<Record<string, ToolRuntime>>;
  /** Present when clients of the requester may be asked to run tools. */
  readonly client?: ClientSide;
  /** `reject`: the job is cancelled when it, or one that it starts, asks a person. Absent: it waits. */
  readonly humanWait?: 'reject';
  /** Versions of the server's tools as they were when the job was accepted. */
  readonly toolPins?: Readonly<Record<string, string>>;
  /** What the request itself wants to be asked about; it only tightens the workspace's policy. */
  readonly toolApproval?: ApprovalPolicy;
  /** Layers of the agents whose calls have led to the job. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Of a job that a call has started: it tightens the instance's limit. */
  readonly maxRounds?: number;
  readonly toolChoice?: ToolChoice;
  /** Who answers, pinned. Its tools are among `toolPins`, and in nothing else here. */
  readonly agent?: ChosenAgent;
  /** Whom the job is to choose among; never beside `agent`. */
  readonly routing?: AgentCandidates;
  readonly parameters?: ModelParameters;
  /** What counts before the instance's and the agent's settings while the model provider is down. */
  readonly providerDown?: ProviderDownTerms;
  /** All that the job does: no model is asked. */
  readonly call?: DirectCall;
  /** The job whose question this one asks again: nothing new is said, and its unfinished answer is left out of the prompt. */
  readonly retryOf?: string;
  /** The request brought a provider key of its own. */
  readonly hasOwnKey?: boolean;
}

/**
 * The layout of an input: 2 where a worker that knows only the first one would answer without what it does not know, be it
 * instructions or a policy. Everything else stays 1, for whoever is still there while a new build is rolled out.
 */
export function chatFormat({ agent, routing, call, client, toolPins = {} }: ChatInput): number {
  const isNew = [agent, routing, call, client?.handedOver].some((member) => member !== undefined);
  return isNew || mayStartSubJobs(toolPins) ? 2 : 1;
}

/** Reads a stored input. The row was written by `ChatService`, by this build or one that knows no more. */
export function toChatInput(stored: unknown): ChatInput {
  if (typeof stored !== 'object' || stored === null || !('messages' in stored))
    throw new Error('not the input of a chat job');
  return stored as ChatInput; // written from a ChatInput; see above
}

/** What of the request's messages joins the thread: everything, or only what is new after the last answer it repeats. */
export function joiningMessages({ messages, history, alreadySaid, retryOf }: ChatInput): readonly ChatMessage[] {
  if (retryOf !== undefined) return [];
  return history === 'thread' ? messages : saidSinceAnswer(messages).slice(alreadySaid);
}

/** What users say in a conversation after its last answer or result. Pure. */
export function saidSinceAnswer(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  return messages.slice(last + 1).filter(({ role }) => role === 'user');
}
