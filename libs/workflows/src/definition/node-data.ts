import { z } from 'zod';

import { LIMITS } from './limits.js';
import { askedPerson, baseFields, jsonObject, modelName, timerMs, toolNames } from './node-fields.js';

/**
 * The data of each node type with its defaults, as documented in docs/workflow-nodes.md. A field that has a rule and an error code
 * of its own (an agent's model, a loop's count) is read leniently here.
 */
const start = z.object(baseFields);

const hint = 'A hint for editors. The model decides which inputs it accepts';

const agent = z.object({
  ...baseFields,
  agent: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'An agent of the workspace (id, slug or name). It supplies the fields that the node does not set, and its limits apply. Only Nightshift has this field',
    ),
  model: z.string().default('').describe('The model. Required unless `agent` has one'),
  prompt: z.string().default('').describe('Instructions, the beginning of the system message'),
  temperature: z.number().min(0).max(2).optional().describe('The `temperature` of the model request'),
  maxTokens: z.number().int().positive().optional().describe('Maximum number of tokens in one response of the model'),
  tools: toolNames.describe(
    'Tools that the model may call. `*`: all tools that the requester may use. Empty: those of `meta.tools`',
  ),
  acceptsImages: z.boolean().optional().describe(hint),
  acceptsAudio: z.boolean().optional().describe(hint),
  acceptsVideo: z.boolean().optional().describe(hint),
  acceptsFiles: z.boolean().optional().describe(hint),
  maxToolIterations: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(10)
    .describe('Maximum number of rounds that may request tools'),
  onMaxToolIterations: z
    .enum(['warning', 'error', 'hitl'])
    .default('warning')
    .describe(
      'After that many rounds: `warning` adds a note to the output, `error` fails the node, `hitl` asks a person whether to allow as many again',
    ),
  hitl: askedPerson.describe('Asks a person before the node runs, or about its output: see `hitl` below'),
  modelRequest: jsonObject.optional().describe('Additional fields of the model request'),
  toolChoice: z
    .union([z.enum(['auto', 'none', 'required']), jsonObject])
    .optional()
    .describe('Whether the model has to call a tool, or which one, as in `/v1`'),
  parallelToolCalls: z.boolean().optional().describe('Whether one round may request several tool calls'),
  structuredOutput: jsonObject.optional().describe('A JSON Schema of the response, or a `response_format`'),
});

const route = z.object({
  id: z.string().describe('The output handle'),
  label: z
    .string()
    .optional()
    .describe('For editors only. The model reads the label of the node that the route leads to'),
  condition: z.unknown().optional().describe('Stored, but never evaluated'),
});

const router = z.object({
  ...baseFields,
  model: modelName.describe('The model that chooses. Default: the default model of the workspace'),
  prompt: z.string().default('').describe('Rules for the choice'),
  routes: z
    .array(route)
    .default([])
    .describe('Output handles where edges may begin, in addition to `route-1` and `route-2`'),
  fallbackBehavior: z
    .enum(['first', 'error', 'none'])
    .default('first')
    .describe(
      'When the model chooses no route: `first` follows the first route, `error` fails the node, `none` follows no edge',
    ),
  hitl: askedPerson.describe('Asks a person before the node runs, or about its choice: see `hitl` below'),
});

const branch = z
  .object({
    id: z
      .string()
      .min(1)
      .describe('The output handle. Templates and `sources` refer to the text of the branch as `<node>:<id>`'),
    label: z.string().optional().describe('The heading above its text. Default: the `id`'),
    model: modelName.describe('The model of the branch. Default: the model of the node'),
    prompt: z.string().optional().describe('The system message. Default: `You are a helpful assistant.`'),
    tools: toolNames.describe('Tools that the branch may call, in at most 10 rounds'),
  })
  .transform(({ label, ...rest }) => ({ ...rest, label: label ?? rest.id }));

const parallel = z.object({
  ...baseFields,
  model: modelName.describe(
    'The model of the merge, and of branches that name no model. Default: the default model of the workspace',
  ),
  prompt: z
    .string()
    .default('')
    .describe('Instructions for the model that merges the texts. Empty: the texts are joined in order'),
  branches: z.array(branch).min(1).default([]).describe('Model calls that run in parallel, 1 to 20'),
  mergeEnabled: z
    .boolean()
    .default(true)
    .describe('`true`: the run follows the `merged` edges. `false`: it follows the edges of each branch'),
  branchTimeout: timerMs.default(300_000).describe('Timeout of a branch, in ms. 0: no timeout'),
});

const whileLoop = z.object({
  ...baseFields,
  conditionPrompt: z
    .string()
    .default('')
    .describe(
      'The question that the model answers with `continue` or `done` before each iteration. Required if `loopMode` is `condition`',
    ),
  conditionModel: modelName.describe(
    'The model that answers `conditionPrompt`. Default: the default model of the workspace',
  ),
  maxIterations: z
    .number()
    .int()
    .min(1)
    .max(LIMITS.loopIterations)
    .default(10)
    .describe('Maximum number of iterations'),
  onMaxIterations: z
    .enum(['error', 'warning', 'continue'])
    .default('warning')
    .describe(
      'After that many iterations: `error` fails the node, `warning` ends the loop and warns viewers, `continue` ends the loop',
    ),
  customEvaluator: z
    .string()
    .optional()
    .describe('The name of a condition that is written in code. It is used instead of a model'),
  loopMode: z
    .enum(['condition', 'fixed'])
    .default('condition')
    .describe(
      '`condition`: a condition is checked before each iteration. `fixed`: the loop runs exactly `maxIterations` iterations',
    ),
  loopPrompt: z.string().default('').describe('Instructions that are placed before the input of each iteration'),
  includePreviousOutputs: z
    .boolean()
    .default(true)
    .describe('Whether the input of an iteration includes the outputs of earlier iterations'),
  includeIterationContext: z.boolean().default(false).describe('Whether the input of an iteration includes its number'),
  outputMode: z
    .enum(['last', 'accumulate'])
    .default('last')
    .describe(
      'The output: `last` is the text of the last iteration, `accumulate` is JSON with the texts of all iterations',
    ),
});

const subflow = z.object({
  ...baseFields,
  subflowId: z.string().default('').meta({ description: 'The workflow that the node runs', isRequired: true }),
  inputMappings: jsonObject
    .prefault({})
    .describe('Values by the ids of the declared inputs of that workflow. Texts are templates'),
  shareSession: z
    .boolean()
    .default(true)
    .describe('Whether that workflow shares the session of this one, and with it the texts that `memory` nodes store'),
});

const output = z.object({
  ...baseFields,
  format: z.enum(['text', 'json', 'markdown']).default('text').meta({
    description: 'The format of the text. With `json`, text that is not JSON becomes `{"result": …}`',
    isRequired: true,
  }),
  mode: z
    .enum(['combine', 'synthesis'])
    .optional()
    .describe(
      '`combine` joins the texts in order; `synthesis` has a model write one text from them. Default: the `template` if there is one, else `combine`',
    ),
  sources: z
    .array(z.string())
    .default([])
    .describe('The nodes whose texts are used: ids of nodes, or `<node>:<branch>`. Empty: all earlier nodes'),
  introText: z.string().default('').describe('Text that is placed before the other texts'),
  outroText: z.string().default('').describe('Text that is placed after the other texts'),
  synthesis: z
    .object({
      prompt: z.string().default('').describe('Instructions for the model that writes the text'),
      model: modelName.describe('The model that writes the text. Default: the default model of the workspace'),
    })
    .prefault({})
    .describe('The model call of the mode `synthesis`'),
  useRawTemplate: z.boolean().default(false).describe('Whether `template` is used instead of the `mode`'),
  template: z.string().optional().describe('A template for the complete text'),
  includeMetadata: z.boolean().default(false).describe('Whether the output includes the nodes before it and the time'),
});

const tool = z.object({
  ...baseFields,
  toolId: z.string().default('').meta({ description: 'The name of the tool', isRequired: true }),
  config: jsonObject
    .prefault({})
    .describe(
      'The arguments of the tool. Texts are templates. If the tool has a parameter `input`, it receives the input of the node. Also called `arguments`',
    ),
});

const memory = z.object({
  ...baseFields,
  operation: z
    .enum(['query', 'store'])
    .default('query')
    .describe('`query` searches the stored texts, `store` stores a text'),
  text: z.string().optional().describe('The text to search for or to store, a template. Default: the input'),
  limit: z
    .number()
    .int()
    .positive()
    .default(5)
    .describe('Maximum number of texts that a search returns. Also called `topK`'),
  filter: jsonObject.prefault({}).describe('Metadata that a text must have to be found'),
  metadata: jsonObject.prefault({}).describe('Metadata to store with the text'),
  fallback: z.string().default('No memories found.').describe('The output if the search finds no text'),
});

const schemaValidation = z.object({
  ...baseFields,
  spec: jsonObject.prefault({}).describe('The JSON Schema'),
  onInvalid: z
    .enum(['error', 'route'])
    .default('error')
    .describe('`error` fails the node. `route` sets `<id>_error` and follows the `invalid` edges'),
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
