import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';

import type { CallOptions } from '../calls/route-context.js';
import type { AgentSettings } from '../input/agent.js';
import type { ProviderDownOptions } from '../outages/provider-outages.service.js';

/** The settings of an agent for conversations that name it, in addition to those that their nodes have copied. */
export type NodeAgentOptions = Pick<AgentSettings, 'toolApproval' | 'limits' | 'externalTools'>;

/** Options of all conversations of a job. */
export interface ConversationOptions extends CallOptions {
  /** Versions of the server's tools when the job was accepted. */
  readonly toolPins?: Readonly<Record<string, string>>;
  /** Takes precedence, while the model provider is down, over the settings of the installation and the agents. */
  readonly providerDown?: ProviderDownOptions;
  /** The agents of conversations, by the names that the conversations use. */
  readonly agents?: Readonly<Record<string, NodeAgentOptions>>;
}

/** A conversation with a model, including its tools. */
export interface NodeConversation {
  /** Whether its text is streamed. If so, the shown text is kept if the job ends in mid-round. */
  readonly isShown: boolean;
  /** The agent of the conversation, by its name in the options: its policy layer, its limits and its client tools apply. */
  readonly agent?: string;
  /** The model; null: the workspace's default. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  /** Names of the server's tools that it may call; `*`: all. Unknown names are not offered. */
  readonly tools: readonly string[];
  /** A tool that is never run: its arguments are the response. */
  readonly capture?: ToolDefinition;
  /** For the first round. */
  readonly toolChoice?: ToolChoice;
  readonly parameters?: ModelParameters;
  /** Limit of rounds, >= 1, including rounds before a crash or a wait. The node applies the agent's own limit. */
  readonly maxIterations: number;
}

/** The agent of a conversation; null if it names none. */
export function agentOf(
  { agents = {} }: ConversationOptions,
  { agent }: Pick<NodeConversation, 'agent'>,
): NodeAgentOptions | null {
  return agent !== undefined && Object.hasOwn(agents, agent) ? (agents[agent] ?? null) : null;
}

/** A person or client must settle a request first, or a call in the tool queue or as a sub-job must end. */
export interface NodeWait {
  readonly type: 'waiting';
  readonly interruptIds: readonly string[];
  /** The awaited calls without a request, `<round>:<ordinal>` each. */
  readonly calls: readonly string[];
}

/** The result of a conversation. */
export type NodeConversationResult =
  /** `captured`: JSON arguments, if the response was a call of the capture tool. */
  | { readonly type: 'answered'; readonly text: string; readonly captured: string | null }
  /** The model requested calls in every permitted round, and those calls have run. `text` is that of the last round. */
  | { readonly type: 'limit'; readonly text: string }
  | NodeWait;

/** The result of a call that a node made itself; `text` is what a model would read. */
export type NodeCallEnd = { readonly type: 'finished'; readonly status: string; readonly text: string } | NodeWait;
