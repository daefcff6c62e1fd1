import type { ApprovalPolicy } from '#approvals';
import type { ChatMessage, ToolChoice } from '#models';
import { mayStartSubJobs } from '#tools';

import type { ExternalReference } from '../external/external-chats.js';
import type { AgentCandidates, ChosenAgent } from './agent.js';
import type { DirectCall } from './direct-call.js';
import type { StartChat } from './start-chat.js';

/** The members that a start and the input of its job have in common. */
type SharedWithStart = Pick<
  StartChat,
  'messages' | 'history' | 'tools' | 'client' | 'humanWait' | 'toolApproval' | 'providerDown'
>;

/**
 * The input of a chat job, as stored in its row (`chatFormat`): what its run needs of the start, and what was pinned at acceptance. Never
 * contains a secret.
 */
export interface ChatInput extends SharedWithStart, Partial<Pick<StartChat, 'toolRuntimes' | 'parameters'>> {
  /** `alreadyStored` of the start. Stored under this name, so that every build reads it. */
  readonly alreadySaid?: number;
  /** Versions of the server's tools when the job was accepted. */
  readonly toolPins?: Readonly<Record<string, string>>;
  /** Policy layers of the agents of the parent jobs. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** For a job that a tool call started: tightens the installation's limit of rounds. */
  readonly maxRounds?: number;
  readonly toolChoice?: ToolChoice;
  /** The pinned agent. Its tools are stored only in `toolPins`. */
  readonly agent?: ChosenAgent;
  /** The agents from which the job chooses; never together with `agent`. */
  readonly routing?: AgentCandidates;
  /** The job only makes this call; it uses no model. */
  readonly call?: DirectCall;
  /** The conversation is a chat of another system. If `call` is present too, its result is written there. */
  readonly external?: ExternalReference;
  /** The job that this one retries: it adds no message, and the unfinished response of that job is left out of the prompt. */
  readonly retryOf?: string;
  /** The request contained a provider key of its own. */
  readonly hasOwnKey?: boolean;
}

/**
 * The format of an input: 2 if a worker that knows only format 1 would ignore a part of it, such as instructions or a policy. All other
 * inputs have format 1, so that workers of the older build can run them during a rolling deploy.
 */
export function chatFormat({ agent, routing, call, client, external, toolPins = {} }: ChatInput): number {
  const isNew = [agent, routing, call, client?.handedOver, external].some((member) => member !== undefined);
  return isNew || mayStartSubJobs(toolPins) ? 2 : 1;
}

/** Reads a stored input. `ChatService` of this build or of an older one has written it. */
export function toChatInput(stored: unknown): ChatInput {
  if (typeof stored !== 'object' || stored === null || !('messages' in stored))
    throw new Error('not the input of a chat job');
  return stored as ChatInput; // see above: written from a ChatInput
}

/**
 * The messages of the request that join the thread. If the request contains the whole conversation, these are the user messages after the
 * last response that the thread does not have yet; otherwise all messages. A retry adds none.
 */
export function joiningMessages({ messages, history, alreadySaid, retryOf }: ChatInput): readonly ChatMessage[] {
  if (retryOf !== undefined) return [];
  return history === 'thread' ? messages : userMessagesSinceAnswer(messages).slice(alreadySaid);
}

/** The user messages after the last response or tool result of a conversation. Pure. */
export function userMessagesSinceAnswer(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool');
  return messages.slice(last + 1).filter(({ role }) => role === 'user');
}
