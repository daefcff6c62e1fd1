import { createHash } from 'node:crypto';

import { defineTool, type JsonSchema, subJobPrefix, type Tool, type ToolContext } from '#tools';

import type { DocumentMeta, SubflowInput } from '../definition/document.js';

/** A published workflow that models may call. */
export interface OfferedWorkflow {
  readonly id: string;
  readonly version: number;
  readonly meta: DocumentMeta;
}

/** What a call says to the workflow. */
export interface SaidToWorkflow {
  readonly prompt: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

type Arguments = Readonly<Record<string, unknown>>;

const longestName = 64;

/**
 * Tools out of workflows, in this order: `workflow.` and the name in small letters. Where an earlier one has that name, or
 * nothing is left of it, the beginning of a hash of the id is put behind it. Pure.
 */
export function workflowTools(
  workflows: readonly OfferedWorkflow[],
  start: (workflow: OfferedWorkflow, said: SaidToWorkflow, context: ToolContext) => Promise<string>,
): readonly Tool[] {
  const taken = new Set<string>();
  return workflows.map((workflow) => {
    const name = freeName(workflow, taken);
    taken.add(name);
    const { id, version, meta } = workflow;
    return defineTool({
      name,
      description: descriptionOf(meta),
      input: parametersOf(meta.subflow.inputs),
      runtime: 'server',
      // What starts the job honours the key: the same call never starts another one.
      effect: 'idempotent',
      isolation: 'job',
      version: `${id}@${version}`,
      workflowId: id,
      execute: (args, context) => start(workflow, saidBy(meta.subflow.inputs, args), context),
    });
  });
}

function freeName({ id, meta }: OfferedWorkflow, taken: ReadonlySet<string>): string {
  const slug = slugOf(meta.name);
  const plain = `${subJobPrefix}${slug}`.slice(0, longestName);
  if (slug !== '' && !taken.has(plain)) return plain;
  const mark = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return slug === '' ? `${subJobPrefix}${mark}` : `${plain.slice(0, longestName - mark.length - 1)}-${mark}`;
}

function slugOf(name: string): string {
  const letters = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return letters.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
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

/** An only input without a type is what the user would say: text. */
function parametersOf(inputs: readonly SubflowInput[]): JsonSchema {
  const [only] = inputs;
  const isPlain = inputs.length === 1 && only?.type === 'any';
  const properties = inputs.map(({ id, name, type, default: preset }) => [
    id,
    {
      ...(isPlain ? schemaOf.string : schemaOf[type]),
      ...(name === undefined ? {} : { description: name }),
      ...(preset === undefined ? {} : { default: preset }),
    },
  ]);
  const required = inputs.filter((input) => input.required && input.default === undefined).map(({ id }) => id);
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as JsonSchema, // its own members, whatever they are called
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** As a subflow is told: the first input is what its user says, and all of them have names in templates. */
function saidBy(inputs: readonly SubflowInput[], args: Arguments): SaidToWorkflow {
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
