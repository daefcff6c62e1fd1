import type { ModelParameters } from '#models';
import type { ApprovalPolicy } from '#tools';

/** Limits of an agent; absent ones are the instance's. Numbers are whole, >= 1, and tighten what the instance allows. */
export interface AgentLimits {
  /** Rounds of one answer; the last is asked without tools. */
  readonly maxRounds?: number;
  readonly maxToolCallsPerRound?: number;
  /** UTF-8 bytes of text and reasoning of one job. */
  readonly maxOutputBytes?: number;
  /** Ms until one answer of the model has to be whole. */
  readonly roundTimeoutMs?: number;
  /** For this time (ms) model requests that failed before their first byte are repeated at least every minute. */
  readonly modelRetryForMs?: number;
  /** `fail`: its jobs fail instead of waiting for a model provider that is down. */
  readonly onProviderDown?: 'wait' | 'fail';
}

/** How answers show calls of server tools to OpenAI clients: as lines, as blocks of Open WebUI, or not at all. */
export const toolEventFormats = ['inline', 'open-webui', 'none'] as const;
export type ToolEventFormat = (typeof toolEventFormats)[number];

/** What an agent is made of. Kept in numbered versions that never change. */
export interface AgentSettings {
  /** Null: the one a request names, else the workspace's default. */
  readonly model: string | null;
  /** The system prompt; it comes before everything that a client says. */
  readonly instructions: string;
  /** Server tools that it may call: names, or globs (`*`, `?`). */
  readonly tools: readonly string[];
  /** Server tools that are shown to its model and left to the client to run: names, or globs. They win over `tools`. */
  readonly externalTools: readonly string[];
  readonly limits: AgentLimits;
  /** Sampling fields as OpenAI names them; they win over those of a request. */
  readonly parameters: ModelParameters;
  /** Its layer of the approval policy; it can only tighten the others. Null: it asks for nothing. */
  readonly toolApproval: ApprovalPolicy | null;
  /** For requests to `/v1` that do not ask for a format. Null: `inline`. */
  readonly toolEventFormat: ToolEventFormat | null;
}

/** One version of an agent, as jobs use it. */
export interface AgentPreset extends AgentSettings {
  readonly id: string;
  /** 1, 2, 3 … */
  readonly version: number;
  readonly name: string;
  /** Its name as an id: lower case letters, digits, `.`, `_` and `-`; unique in the workspace. */
  readonly slug: string;
  /** By this `auto` chooses. */
  readonly description: string;
}

/** An agent as it is now: its current version, and what is said of it. Instants in ms since the epoch. */
export interface Agent extends AgentPreset {
  /** Takes what `auto` can give to nobody. As long as there are agents, one of them is it. */
  readonly isDefault: boolean;
  readonly archivedAt: number | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What lists show of an agent that need not know what it is made of. */
export type ListedAgent = Pick<Agent, 'id' | 'name' | 'slug' | 'description' | 'createdAt'>;

/** A version of an agent in its history. */
export interface AgentVersion extends AgentSettings {
  readonly agentId: string;
  readonly number: number;
  /** SHA-256 (hex) of its settings: equal ones are one version. */
  readonly hash: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** Which version of which agent a job uses. */
export interface AgentPin {
  readonly id: string;
  readonly version: number;
}

/** What a job says of the agent that answers in it. */
export interface ChosenAgent extends AgentPin {
  readonly name: string;
  readonly slug: string;
}

/** Whom a job is to choose among, once it runs. */
export interface AgentCandidates {
  readonly candidates: readonly AgentPin[];
  /** Id of the one that takes what fits nobody. */
  readonly fallback: string;
}

/** Who is to answer: an agent by our id, its slug or its name, or whichever fits best. */
export type AgentSelection = { readonly type: 'agent'; readonly ref: string } | { readonly type: 'auto' };
