import { z } from 'zod';

import { LIMITS } from './limits.js';
import { askedPerson, baseFields, jsonObject, modelName, timerMs, toolNames } from './node-fields.js';

/**
 * The data of each node type with its defaults, as documented in docs/workflow-nodes.md. A field that has a rule and an error code
 * of its own (an agent's model, a loop's count) is read leniently here.
 */
const start = z.object(baseFields);

const hint = 'A hint for editors: what the model takes decides';

const agent = z.object({
  ...baseFields,
  agent: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .describe(
      'An agent of the workspace (id, slug or name): it gives what the node leaves out, and its limits hold. Ours',
    ),
  model: z.string().default('').describe('The model. Required unless `agent` has one'),
  prompt: z.string().default('').describe('Instructions, the beginning of the system message'),
  temperature: z.number().min(0).max(2).optional().describe('Of the model request'),
  maxTokens: z.number().int().positive().optional().describe('Of one answer of the model'),
  tools: toolNames.describe('Tools it may call; `*`: all that the requester may use; none: those of `meta.tools`'),
  acceptsImages: z.boolean().optional().describe(hint),
  acceptsAudio: z.boolean().optional().describe(hint),
  acceptsVideo: z.boolean().optional().describe(hint),
  acceptsFiles: z.boolean().optional().describe(hint),
  maxToolIterations: z.number().int().min(1).max(1_000).default(10).describe('Rounds that may ask for tools'),
  onMaxToolIterations: z
    .enum(['warning', 'error', 'hitl'])
    .default('warning')
    .describe('After so many rounds: the output gets a note, the node fails, or a person decides about as many again'),
  hitl: askedPerson.describe('A person asked before the node, or about what it wrote: see `hitl` below'),
  modelRequest: jsonObject.optional().describe('More fields of the model request'),
  toolChoice: z
    .union([z.enum(['auto', 'none', 'required']), jsonObject])
    .optional()
    .describe('Whether the model has to call a tool, or which one, as in `/v1`'),
  parallelToolCalls: z.boolean().optional().describe('Whether one round may ask for several calls'),
  structuredOutput: jsonObject.optional().describe('A JSON Schema of the answer, or a `response_format`'),
});

const route = z.object({
  id: z.string().describe('The output handle'),
  label: z.string().optional().describe('For editors: the model reads the label of the node that the route leads to'),
  condition: z.unknown().optional().describe('Kept, never evaluated'),
});

const router = z.object({
  ...baseFields,
  model: modelName.describe('The model that chooses; without one the default model of the workspace'),
  prompt: z.string().default('').describe('Rules to choose by'),
  routes: z.array(route).default([]).describe('Handles that its edges may begin at, beside `route-1` and `route-2`'),
  fallbackBehavior: z
    .enum(['first', 'error', 'none'])
    .default('first')
    .describe('When the model chooses none: the first route, an error, or no way on'),
  hitl: askedPerson.describe('A person asked before the node, or about its choice: see `hitl` below'),
});

const branch = z
  .object({
    id: z.string().min(1).describe('The output handle; its text is `<node>:<id>` in templates and `sources`'),
    label: z.string().optional().describe('The heading above its text; without one the `id`'),
    model: modelName.describe('Without one that of the node'),
    prompt: z.string().optional().describe('The system message; without one `You are a helpful assistant.`'),
    tools: toolNames.describe('Tools that it may call, in 10 rounds at most'),
  })
  .transform(({ label, ...rest }) => ({ ...rest, label: label ?? rest.id }));

const parallel = z.object({
  ...baseFields,
  model: modelName.describe(
    'Of branches without a model and of the merge; without one the default model of the workspace',
  ),
  prompt: z.string().default('').describe('How a model merges the texts; empty: they follow each other'),
  branches: z.array(branch).min(1).default([]).describe('Model calls that are made at once, 1 to 20'),
  mergeEnabled: z.boolean().default(true).describe('Whether the way on is `merged`; else every branch has its own'),
  branchTimeout: timerMs.default(300_000).describe('Ms that a branch may take; 0: as long as it wants'),
});

const whileLoop = z.object({
  ...baseFields,
  conditionPrompt: z
    .string()
    .default('')
    .describe('What a model is asked before each pass: `continue` or `done`? Required where `loopMode` is `condition`'),
  conditionModel: modelName.describe('The model that is asked; without one the default model of the workspace'),
  maxIterations: z.number().int().min(1).max(LIMITS.loopIterations).default(10).describe('Passes at most'),
  onMaxIterations: z
    .enum(['error', 'warning', 'continue'])
    .default('warning')
    .describe('After so many passes: the node fails, viewers are warned, or nothing'),
  customEvaluator: z.string().optional().describe('A condition in code by its name, instead of a model'),
  loopMode: z.enum(['condition', 'fixed']).default('condition').describe('`fixed`: exactly `maxIterations` passes'),
  loopPrompt: z.string().default('').describe('Instructions that stand before what each pass reads'),
  includePreviousOutputs: z.boolean().default(true).describe('Whether a pass reads what earlier ones gave'),
  includeIterationContext: z.boolean().default(false).describe('Whether a pass reads its number'),
  outputMode: z
    .enum(['last', 'accumulate'])
    .default('last')
    .describe('The text of the last pass, or JSON with those of all'),
});

const subflow = z.object({
  ...baseFields,
  subflowId: z.string().default('').meta({ description: 'The workflow that it runs', isRequired: true }),
  inputMappings: jsonObject.prefault({}).describe('Values by the ids of its declared inputs; texts are templates'),
  shareSession: z.boolean().default(true).describe('Whether it shares the session, and so what `memory` nodes keep'),
});

const output = z.object({
  ...baseFields,
  format: z
    .enum(['text', 'json', 'markdown'])
    .default('text')
    .meta({ description: 'Of the text; `json`: text that is not JSON becomes `{"result": …}`', isRequired: true }),
  mode: z
    .enum(['combine', 'synthesis'])
    .optional()
    .describe(
      'Texts one after the other, or one text that a model makes of them; without one `combine`, or the `template` where there is one',
    ),
  sources: z.array(z.string()).default([]).describe('Ids of nodes, or `<node>:<branch>`; none: all earlier nodes'),
  introText: z.string().default('').describe('Before the texts'),
  outroText: z.string().default('').describe('Behind the texts'),
  synthesis: z
    .object({
      prompt: z.string().default('').describe('How the texts become one'),
      model: modelName.describe('Without one the default model of the workspace'),
    })
    .prefault({})
    .describe('The call of the mode `synthesis`'),
  useRawTemplate: z.boolean().default(false).describe('Whether `template` is used instead of the `mode`'),
  template: z.string().optional().describe('A template of the whole text'),
  includeMetadata: z.boolean().default(false).describe('Whether the nodes before it and the time are added'),
});

const tool = z.object({
  ...baseFields,
  toolId: z.string().default('').meta({ description: 'The name of the tool', isRequired: true }),
  config: jsonObject
    .prefault({})
    .describe(
      'Its arguments; texts are templates. `input`, where the tool takes one, is the input. Also called `arguments`',
    ),
});

const memory = z.object({
  ...baseFields,
  operation: z.enum(['query', 'store']).default('query').describe('Find texts, or keep one'),
  text: z.string().optional().describe('What is looked for or kept, a template; without one the input'),
  limit: z.number().int().positive().default(5).describe('Texts that are found at most. Also called `topK`'),
  filter: jsonObject.prefault({}).describe('Metadata that texts have to have'),
  metadata: jsonObject.prefault({}).describe('Metadata to keep with the text'),
  fallback: z.string().default('No memories found.').describe('The output when nothing is found'),
});

const schemaValidation = z.object({
  ...baseFields,
  spec: jsonObject.prefault({}).describe('The JSON Schema'),
  onInvalid: z
    .enum(['error', 'route'])
    .default('error')
    .describe('The node fails, or takes `invalid` with `<id>_error` set'),
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
