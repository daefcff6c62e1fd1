import { z } from 'zod';

import { parseApprovalPolicy } from '#approvals';
import { defined, readInput, toStorableText } from '#platform';

import { type AgentSettings, toolEventFormats } from '../input/agent.js';
import { agentInvalid } from './agents.errors.js';

/** The input of a new agent. Absent settings are empty, or those of the workspace. */
export interface NewAgent extends Partial<Omit<AgentSettings, 'toolApproval'>> {
  readonly name: string;
  /** Default: derived from the name. The slug stays the same if the name changes. */
  readonly slug?: string;
  readonly description?: string;
  /** Maximum number of its jobs that run at once; null: only the caps of workspace and user apply. */
  readonly maxRunningJobs?: number | null;
  /** A policy in the format of a workspace's policy; null: none. */
  readonly toolApproval?: unknown;
}

/** The changes of an agent. Absent members do not change. */
export type AgentChanges = Partial<NewAgent>;

/** A parsed and normalized input. */
export interface ReadAgent {
  readonly name?: string;
  readonly slug?: string;
  readonly description?: string;
  readonly maxRunningJobs?: number | null;
  readonly settings: Partial<AgentSettings>;
}

const storable = (longest: number) =>
  z
    .string()
    .max(longest, `at most ${longest} characters`)
    .refine((text) => toStorableText(text) === text, 'contains characters that cannot be stored');

const label = (longest: number) => storable(longest).trim().min(1, 'must not be empty');
const toolNames = z.array(storable(128).min(1)).max(200, 'at most 200 entries').readonly();
const limit = (max: number) => z.int().min(1).max(max).exactOptional();

/** Sampling fields that an agent may pin, as OpenAI and OpenRouter name them. */
const parameters = z.strictObject({
  temperature: z.number().min(0).max(2).exactOptional(),
  top_p: z.number().min(0).max(1).exactOptional(),
  top_k: z.int().min(0).exactOptional(),
  min_p: z.number().min(0).max(1).exactOptional(),
  max_tokens: z.int().min(1).exactOptional(),
  max_completion_tokens: z.int().min(1).exactOptional(),
  seed: z.int().exactOptional(),
  stop: z.union([storable(1_000), z.array(storable(1_000)).max(16)]).exactOptional(),
  presence_penalty: z.number().min(-2).max(2).exactOptional(),
  frequency_penalty: z.number().min(-2).max(2).exactOptional(),
  repetition_penalty: z.number().min(0).max(2).exactOptional(),
  parallel_tool_calls: z.boolean().exactOptional(),
  response_format: z.record(z.string(), z.json()).exactOptional(),
  reasoning_effort: storable(32).exactOptional(),
  reasoning: z.record(z.string(), z.json()).exactOptional(),
  verbosity: storable(32).exactOptional(),
});

const agent = z.strictObject({
  name: label(100).exactOptional(),
  slug: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/, '1 to 64 of a-z, 0-9, ".", "_" and "-"')
    .refine((slug) => slug !== 'auto', '"auto" stands for any agent')
    .exactOptional(),
  description: storable(1_000).trim().exactOptional(),
  maxRunningJobs: z.int().min(1).max(1_000_000).nullable().exactOptional(),
  model: label(256).nullable().exactOptional(),
  instructions: storable(100_000).exactOptional(),
  tools: toolNames.exactOptional(),
  externalTools: toolNames.exactOptional(),
  limits: z
    .strictObject({
      maxRounds: limit(1_000),
      maxToolCallsPerRound: limit(1_000),
      maxOutputBytes: limit(1_000_000_000),
      roundTimeoutMs: limit(24 * 3_600_000),
      modelRetryForMs: z
        .int()
        .min(0)
        .max(7 * 86_400_000)
        .exactOptional(),
      onProviderDown: z.enum(['wait', 'fail']).exactOptional(),
    })
    .exactOptional(),
  parameters: parameters.exactOptional(),
  toolApproval: z.unknown().exactOptional(),
  toolEventFormat: z.enum(toolEventFormats).nullable().exactOptional(),
});

/** Parses the input of an agent. Throws `bad_request` naming the invalid member (`parameters.temperature`). Pure. */
export function readAgentInput(given: AgentChanges): ReadAgent {
  const read = readInput(agent, given);
  if ('problem' in read) throw agentInvalid(read.problem.field, read.problem.text);
  const { name, slug, description, maxRunningJobs, toolApproval, ...settings } = read.data;
  return {
    ...defined({ name, slug, description, maxRunningJobs }),
    settings: { ...settings, ...(toolApproval === undefined ? {} : { toolApproval: toPolicy(toolApproval) }) },
  };
}

function toPolicy(given: unknown): AgentSettings['toolApproval'] {
  return given === null ? null : parseApprovalPolicy(given, 'toolApproval');
}
