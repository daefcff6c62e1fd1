import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';

import type { AgentSettings } from '../agent.js';
import type { CallTerms } from '../calls/route-context.js';
import type { ProviderDownTerms } from '../outages/provider-outages.service.js';

/** What an agent says of the conversations that name it, beside what their nodes have taken over from it. */
export type NodeAgentTerms = Pick<AgentSettings, 'toolApproval' | 'limits' | 'externalTools'>;

/** What holds for all conversations of a job. */
export interface ConversationTerms extends CallTerms {
  /** Versions of the server's tools as they were when the job was accepted. */
  readonly toolPins?: Readonly<Record<string, string>>;
  /** What counts before the instance's and the agents' settings while the model provider is down. */
  readonly providerDown?: ProviderDownTerms;
  /** The agents that conversations name, by the names that they give them. */
  readonly agents?: Readonly<Record<string, NodeAgentTerms>>;
}

/** A conversation with a model, tools included. */
export interface NodeConversation {
  /** Whether its text is streamed: then what was shown is kept when the job ends in the middle of it. */
  readonly isShown: boolean;
  /** The agent that speaks, by its name in the terms: its layer of the policy and its limits hold, and its tools of clients are theirs. */
  readonly agent?: string;
  /** Null: the workspace's default. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  /** Names of the server's tools that it may call; `*`: all there are. Unknown ones are not offered. */
  readonly tools: readonly string[];
  /** A tool that is not run: what it is called with is the answer. */
  readonly capture?: ToolDefinition;
  /** Holds for the first round. */
  readonly toolChoice?: ToolChoice;
  readonly parameters?: ModelParameters;
  /** Rounds in all, those before a crash or a wait included; >= 1. The agent's own number is the node's to mind. */
  readonly maxIterations: number;
}

/** The agent that speaks; null: nobody in particular. */
export function agentOf(
  { agents = {} }: ConversationTerms,
  { agent }: Pick<NodeConversation, 'agent'>,
): NodeAgentTerms | null {
  return agent !== undefined && Object.hasOwn(agents, agent) ? (agents[agent] ?? null) : null;
}

/** Somebody outside has to answer first, or to end a call that runs in the isolated queue or as a job. */
export interface NodeWait {
  readonly type: 'waiting';
  readonly interruptIds: readonly string[];
  /** The calls without a request that are waited for, `<round>:<ordinal>` each. */
  readonly calls: readonly string[];
}

/** What became of a conversation. */
export type NodeAnswer =
  /** `captured`: JSON text, when the answer was a call of the tool that is not run. */
  | { readonly type: 'answered'; readonly text: string; readonly captured: string | null }
  /** All permitted rounds asked for tools, and those have run; `text` is the last round's. */
  | { readonly type: 'limit'; readonly text: string }
  | NodeWait;

/** What became of a node's own call; `text` is what a model would read. */
export type NodeCallEnd = { readonly type: 'finished'; readonly status: string; readonly text: string } | NodeWait;
