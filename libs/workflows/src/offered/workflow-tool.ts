import { defined } from '#platform';
import { defineTool, type JsonSchema, subJobPrefix, type Tool, type ToolContext } from '#tools';

import type { DocumentMeta, SubflowInput } from '../definition/document.js';

/** A published workflow that models may call. */
export interface OfferedWorkflow {
  readonly id: string;
  readonly version: number;
  /** The part of its name after `workflow.`. */
  readonly toolSlug: string;
  readonly meta: DocumentMeta;
}

/** The input that a call passes to the workflow. */
export interface WorkflowCallInput {
  readonly prompt: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Converts workflows to tools in the same order, with their tool names. Pure. */
export function workflowTools(
  workflows: readonly OfferedWorkflow[],
  start: (workflow: OfferedWorkflow, input: WorkflowCallInput, context: ToolContext) => Promise<string>,
): readonly Tool[] {
  return workflows.map((workflow) => {
    const { id, version, toolSlug, meta } = workflow;
    return defineTool({
      name: `${subJobPrefix}${toolSlug}`,
      description: descriptionOf(meta),
      input: parametersOf(meta.subflow.inputs),
      runtime: 'server',
      // The start honors the key: the same call never starts a second job.
      effect: 'idempotent',
      isolation: 'job',
      version: `${id}@${version}`,
      workflowId: id,
      execute: (args, context) => start(workflow, callInput(meta.subflow.inputs, args), context),
    });
  });
}

function descriptionOf({ name, description = '' }: DocumentMeta): string {
  return description.trim() === '' ? `Runs the workflow "${name}" and gives its answer.` : description;
}

const anything: JsonSchema = {};
const schemaOf: Readonly<Record<SubflowInput['type'], JsonSchema>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  object: { type: 'object' },
  array: { type: 'array' },
  any: anything,
};

/** A single input without a type is the user's text. */
function parametersOf(inputs: readonly SubflowInput[]): JsonSchema {
  const [only] = inputs;
  const isPlain = inputs.length === 1 && only?.type === 'any';
  const properties = inputs.map(({ id, name, type, default: preset }) => [
    id,
    {
      ...(isPlain ? schemaOf.string : schemaOf[type]),
      ...defined({ description: name, default: preset }),
    },
  ]);
  const required = inputs.filter((input) => input.required && input.default === undefined).map(({ id }) => id);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as JsonSchema, // only own members, whatever their names are
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** As for a subflow: the first input is the user's text, and templates can use every input by name. */
function callInput(inputs: readonly SubflowInput[], args: Arguments): WorkflowCallInput {
  const values = inputs.flatMap(({ id, default: preset }): [string, unknown][] => {
    const value = Object.hasOwn(args, id) ? args[id] : preset;
    return value === undefined ? [] : [[id, value]];
  });
  const first = values.find(([id]) => id === inputs[0]?.id)?.[1] ?? '';
  return {
    prompt: typeof first === 'string' ? first : JSON.stringify(first),
    inputs: Object.fromEntries(values),
  };
}
