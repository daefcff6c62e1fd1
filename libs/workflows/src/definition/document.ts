import { z } from 'zod';

import { problemInWords } from '#platform';

import type { JsonObject } from './json.js';
import { LIMITS } from './limits.js';
import { jsonObject, toolNames } from './node-fields.js';
import { type Fault, readTolerantly } from './read-tolerantly.js';

const id = z.string().min(1).max(LIMITS.idLength);
/** Editors write null, or omit the field, when an edge has no handle. */
const handle = z
  .string()
  .max(LIMITS.idLength)
  .nullish()
  .transform((name) => (name === undefined || name === '' ? null : name));

const node = z.object({
  // Reported ids of nodes inside of subflows are `sf:<node>|<id>`: no id may look like one.
  id: id.refine((text) => !text.startsWith('sf:') && !text.includes('|'), 'must not begin with "sf:" or have a "|"'),
  type: z.string().max(LIMITS.idLength),
  position: z.object({ x: z.number(), y: z.number() }),
  data: jsonObject,
});

const edge = z.object({
  id,
  source: z.string(),
  target: z.string(),
  sourceHandle: handle,
  targetHandle: handle,
  label: z
    .string()
    .nullish()
    .transform((text) => (text === undefined || text === '' ? null : text)),
});

const portTypes = ['string', 'number', 'object', 'array', 'any'] as const;
const port = {
  id,
  name: z.string().optional(),
  type: z.enum(portTypes).default('any'),
};
const subflow = z.object({
  inputs: z
    .array(z.object({ ...port, required: z.boolean().default(false), default: z.unknown().optional() }))
    .default([]),
  outputs: z.array(z.object(port)).default([]),
});
const stopPolicy = z.object({
  maxSteps: z.number().int().positive().optional(),
  /** Ms. */
  maxDurationMs: z.number().positive().optional(),
  maxTokens: z.number().int().positive().optional(),
  /** By the prices of the installation. */
  maxCostUsd: z.number().positive().optional(),
});

const requiredMeta = { version: z.string(), name: z.string() };
const meta = z.object({
  ...requiredMeta,
  id: z.string().optional(),
  description: z.string().optional(),
  /** Tools of agents that name none. */
  tools: toolNames,
  compat: z.object({ routerEcho: z.boolean().default(false) }).prefault({}),
  subflow: subflow.prefault({
    inputs: [{ id: 'input', name: 'Input', required: true }],
    outputs: [{ id: 'output', name: 'Output' }],
  }),
  execution: z.object({ stopPolicy: stopPolicy.prefault({}) }).prefault({}),
});

const envelope = z.object({ meta: z.looseObject(requiredMeta), nodes: z.array(node), edges: z.array(edge) });

export type DocumentNode = Readonly<z.output<typeof node>>;
export type DocumentEdge = Readonly<z.output<typeof edge>>;
export type DocumentMeta = Readonly<z.output<typeof meta>>;
/** What a subflow is given. */
export type SubflowInput = DocumentMeta['subflow']['inputs'][number];
/** What a subflow gives. */
export type SubflowOutput = DocumentMeta['subflow']['outputs'][number];
/** The limits at which a run asks before it continues; absent: the workflow sets no limit. */
export type StopPolicy = DocumentMeta['execution']['stopPolicy'];

/**
 * A typed view of a definition. The definition itself is its JSON: what is stored, compared and exported is that, with every
 * field that is unknown here.
 */
export interface WorkflowDocument {
  readonly meta: DocumentMeta;
  readonly nodes: readonly DocumentNode[];
  readonly edges: readonly DocumentEdge[];
}

export type ParsedDocument =
  /** `faults`: fields of `meta` with a wrong type, which are read as absent. */
  | { readonly ok: true; readonly document: WorkflowDocument; readonly faults: readonly Fault[] }
  /** The value is not a workflow document. */
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Reads a definition: any JSON value, also from an untrusted client. Does not check whether the definition can run, which is
 * the job of `validateWorkflow`. Never throws for a value that came out of `JSON.parse`.
 */
export function parseDocument(json: unknown): ParsedDocument {
  const parsed = envelope.safeParse(json, { error: problemInWords });
  if (!parsed.success) return { ok: false, faults: parsed.error.issues };
  const { nodes, edges } = parsed.data;
  const read = readTolerantly(meta, (json as JsonObject)['meta']); // an object: it has just been parsed as one
  const faults = read.faults.map(({ path, message }) => ({ path: ['meta', ...path], message }));
  if (read.value === null) return { ok: false, faults };
  return { ok: true, document: { meta: read.value, nodes, edges }, faults };
}
