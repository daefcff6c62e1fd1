import type { ApprovalPolicy } from '#approvals';
import type { ModelParameters } from '#models';

/**
 * Limits of an agent. Absent: the value of the installation. The numeric limits are whole numbers of at least 1, except `modelRetryForMs`
 * (0 or more). `modelRetryForMs` and `onProviderDown` replace the settings of the installation; the others only tighten its limits.
 */
export interface AgentLimits {
  /** Rounds per response; the last round is requested without tools. */
  readonly maxRounds?: number;
  readonly maxToolCallsPerRound?: number;
  /** UTF-8 bytes of text and reasoning of one job. */
  readonly maxOutputBytes?: number;
  /** Ms within which a response of the model must be complete. */
  readonly roundTimeoutMs?: number;
  /** For how long (ms) model requests that failed before their first byte are retried with a backoff of at most about one minute. */
  readonly modelRetryForMs?: number;
  /** `fail`: the agent's jobs fail instead of waiting for a model provider that is down. */
  readonly onProviderDown?: 'wait' | 'fail';
}

/** How `/v1` responses show calls of server tools: as lines, as blocks for Open WebUI, or not at all. */
export const toolEventFormats = ['inline', 'open-webui', 'none'] as const;
export type ToolEventFormat = (typeof toolEventFormats)[number];

/** The settings of an agent. Stored in numbered versions that never change. */
export interface AgentSettings {
  /** The model of the agent. Null: the model that a request names, else the workspace's default. */
  readonly model: string | null;
  /** The system prompt; it comes before all messages of the client. */
  readonly instructions: string;
  /** Server tools that the agent may call: names, or globs (`*`, `?`). */
  readonly tools: readonly string[];
  /** Server tools that its model may request and that the client runs: names, or globs. They take precedence over `tools`. */
  readonly externalTools: readonly string[];
  readonly limits: AgentLimits;
  /** Sampling parameters with OpenAI's names; they take precedence over those of a request. */
  readonly parameters: ModelParameters;
  /** The agent's layer of the approval policy; it can only tighten the other layers. Null: no layer. */
  readonly toolApproval: ApprovalPolicy | null;
  /** The format of `/v1` responses to requests that specify none. Null: `inline`. */
  readonly toolEventFormat: ToolEventFormat | null;
}

/** One version of an agent, in the form that jobs use. */
export interface AgentPreset extends AgentSettings {
  readonly id: string;
  /** The number of the version: 1, 2, 3 … */
  readonly version: number;
  readonly name: string;
  /** A name with lower case letters, digits, `.`, `_` and `-`; unique in the workspace. */
  readonly slug: string;
  /** The description by which `auto` chooses the agent. */
  readonly description: string;
  /** Maximum number of its jobs that run at once, over all its versions. Null: only the caps of workspace and user apply. */
  readonly maxRunningJobs: number | null;
}

/** An agent with its current version. Instants in ms since the epoch. */
export interface Agent extends AgentPreset {
  /** `auto` uses the default agent if no other fits. A workspace with agents has exactly one. */
  readonly isDefault: boolean;
  readonly archivedAt: number | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An agent in a list, without its settings. */
export type ListedAgent = Pick<Agent, 'id' | 'name' | 'slug' | 'description' | 'createdAt'>;

/** A version of an agent in its history. */
export interface AgentVersion extends AgentSettings {
  readonly agentId: string;
  readonly number: number;
  /** SHA-256 (hex) of its settings; equal settings are one version. */
  readonly hash: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** The version of an agent that a job uses. */
export interface AgentPin {
  readonly id: string;
  readonly version: number;
}

/** The agent of a job, as its events and APIs show it. */
export interface ChosenAgent extends AgentPin {
  readonly name: string;
  readonly slug: string;
}

/** The agents that a job chooses from once it runs. */
export interface AgentCandidates {
  readonly candidates: readonly AgentPin[];
  /** Id of the agent that is used if no other fits. */
  readonly fallback: string;
}

/** The agent of a request: one by id, slug or name, or the one that fits best. */
export type AgentSelection = { readonly type: 'agent'; readonly ref: string } | { readonly type: 'auto' };
