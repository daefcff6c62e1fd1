import { z } from 'zod';

import { LIMITS } from './limits.js';
import { askedPerson, baseFields, jsonObject, modelName, timerMs, toolNames } from './node-fields.js';

/**
 * What the nodes of the format carry, with its defaults. A field that has a rule and a code of its own (an agent's model, a loop's
 * count) is read here as far as it makes sense.
 */
const start = z.object(baseFields);

const agent = z.object({
  ...baseFields,
  /** Ours: an agent of the workspace (id, slug or name), for what the node leaves out. */
  agent: z.string().min(1).max(256).optional(),
  model: z.string().default(''),
  prompt: z.string().default(''),
  temperature: z.number().min(0).max(2).optional(),
  maxTokens: z.number().int().positive().optional(),
  /** Names, or `*` for all that the principal may use; empty: those of the document. */
  tools: toolNames,
  acceptsImages: z.boolean().optional(),
  acceptsAudio: z.boolean().optional(),
  acceptsVideo: z.boolean().optional(),
  acceptsFiles: z.boolean().optional(),
  maxToolIterations: z.number().int().min(1).max(1_000).default(10),
  onMaxToolIterations: z.enum(['warning', 'error', 'hitl']).default('warning'),
  hitl: askedPerson,
  /** More fields of the model request. */
  modelRequest: jsonObject.optional(),
  toolChoice: z.union([z.enum(['auto', 'none', 'required']), jsonObject]).optional(),
  parallelToolCalls: z.boolean().optional(),
  /** A JSON Schema, or a `response_format`. */
  structuredOutput: jsonObject.optional(),
});

const route = z.object({ id: z.string(), label: z.string().optional(), condition: z.unknown().optional() });

const router = z.object({
  ...baseFields,
  model: modelName,
  prompt: z.string().default(''),
  routes: z.array(route).default([]),
  fallbackBehavior: z.enum(['first', 'error', 'none']).default('first'),
  hitl: askedPerson,
});

const branch = z
  .object({
    id: z.string().min(1),
    label: z.string().optional(),
    model: modelName,
    prompt: z.string().optional(),
    tools: toolNames,
  })
  .transform(({ label, ...rest }) => ({ ...rest, label: label ?? rest.id }));

const parallel = z.object({
  ...baseFields,
  model: modelName,
  /** Of the merge; empty: the branches' texts, one after the other. */
  prompt: z.string().default(''),
  branches: z.array(branch).min(1).default([]),
  mergeEnabled: z.boolean().default(true),
  /** Ms; 0: off. */
  branchTimeout: timerMs.default(300_000),
});

const whileLoop = z.object({
  ...baseFields,
  conditionPrompt: z.string().default(''),
  conditionModel: modelName,
  maxIterations: z.number().int().min(1).max(LIMITS.loopIterations).default(10),
  onMaxIterations: z.enum(['error', 'warning', 'continue']).default('warning'),
  customEvaluator: z.string().optional(),
  loopMode: z.enum(['condition', 'fixed']).default('condition'),
  loopPrompt: z.string().default(''),
  includePreviousOutputs: z.boolean().default(true),
  includeIterationContext: z.boolean().default(false),
  outputMode: z.enum(['last', 'accumulate']).default('last'),
});

const subflow = z.object({
  ...baseFields,
  subflowId: z.string().default(''),
  /** By the id of the child's input; texts are templates. */
  inputMappings: jsonObject.prefault({}),
  shareSession: z.boolean().default(true),
});

const output = z.object({
  ...baseFields,
  format: z.enum(['text', 'json', 'markdown']).default('text'),
  /** Absent beside a `template`: the template is raw. */
  mode: z.enum(['combine', 'synthesis']).optional(),
  /** Ids of nodes, or `<node>:<branch>`. */
  sources: z.array(z.string()).default([]),
  introText: z.string().default(''),
  outroText: z.string().default(''),
  synthesis: z.object({ prompt: z.string().default(''), model: modelName }).prefault({}),
  useRawTemplate: z.boolean().default(false),
  template: z.string().optional(),
  includeMetadata: z.boolean().default(false),
});

const tool = z.object({
  ...baseFields,
  toolId: z.string().default(''),
  /** The arguments; texts in it are templates. */
  config: jsonObject.prefault({}),
});

const memory = z.object({
  ...baseFields,
  operation: z.enum(['query', 'store']).default('query'),
  text: z.string().optional(),
  limit: z.number().int().positive().default(5),
  filter: jsonObject.prefault({}),
  metadata: jsonObject.prefault({}),
  fallback: z.string().default('No memories found.'),
});

const schemaValidation = z.object({
  ...baseFields,
  spec: jsonObject.prefault({}),
  onInvalid: z.enum(['error', 'route']).default('error'),
});

export const formatNodes = {
  start,
  agent,
  router,
  parallel,
  whileLoop,
  subflow,
  output,
  tool,
  memory,
  schemaValidation,
} as const;
