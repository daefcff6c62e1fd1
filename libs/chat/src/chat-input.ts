import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';
import type { ApprovalPolicy, ClientSide, ToolRuntime } from '#tools';

import type { AgentCandidates, ChosenAgent } from './agents/agent.js';
import type { DirectCall } from './nodes/direct-call.js';

/** What a chat job was asked to do, as it is stored on its row (`format` 1). Never holds a secret. */
export interface ChatInput {
  readonly messages: readonly ChatMessage[];
  readonly history: 'thread' | 'request';
  /** Definitions as the request advertised them; a name stands for the server's own tool of that name. */
  readonly tools: readonly (string | ToolDefinition)[];
  readonly toolRuntimes?: Readonly<Record<string, ToolRuntime>>;
  /** Present when clients of the requester may be asked to run tools. */
  readonly client?: ClientSide;
  /** Versions of the server's tools as they were when the job was accepted. */
  readonly toolPins?: Readonly<Record<string, string>>;
  /** What the request itself wants to be asked about; it only tightens the workspace's policy. */
  readonly toolApproval?: ApprovalPolicy;
  readonly toolChoice?: ToolChoice;
  /** Who answers, pinned. Its tools are among `toolPins`, and in nothing else here. */
  readonly agent?: ChosenAgent;
  /** Whom the job is to choose among; never beside `agent`. */
  readonly routing?: AgentCandidates;
  readonly parameters?: ModelParameters;
  /** All that the job does: no model is asked. */
  readonly call?: DirectCall;
  /** The job whose question this one asks again: nothing new is said, and its unfinished answer is left out of the prompt. */
  readonly retryOf?: string;
  /** The request brought a provider key of its own. */
  readonly hasOwnKey?: boolean;
}

/** Reads a stored input. The row was written by `ChatService`, by this build or one with the same `format`. */
export function toChatInput(stored: unknown): ChatInput {
  if (typeof stored !== 'object' || stored === null || !('messages' in stored))
    throw new Error('not the input of a chat job');
  return stored as ChatInput; // written from a ChatInput; see above
}

/** What of the request's messages joins the thread: everything, or only what comes after the last answer it repeats. */
export function joiningMessages({ messages, history, retryOf }: ChatInput): readonly ChatMessage[] {
  if (retryOf !== undefined) return [];
  if (history === 'thread') return messages;
  const last = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  return messages.slice(last + 1).filter(({ role }) => role === 'user');
}
