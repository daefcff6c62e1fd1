import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  Kind,
  type OperationDefinitionNode,
  type VariableNode,
  visit,
} from 'graphql';

import { isPlainData } from '#platform/api';

import type { PreparedOperation } from '../documents/prepare-operation.js';
import { CannotWrite, compileSelection, type Writer } from './compile-selection.js';

/** Turns one event of a subscription into the JSON text of its execution result. */
export interface EventEncoder {
  /** Null: the event does not fit its type, so only GraphQL's own execution can write it. */
  encode(event: object): string | null;
}

/** Encoders kept for one document, one for each choice of its variables; the oldest is dropped. */
const maxEncoders = 16;
/** Selections visited by one compilation: all fields of all events take under 1,000. About 3 ms. */
const maxVisits = 5_000;

/**
 * Returns the encoder for all viewers with the same document whose variables select the same fields. Null: the data of the subscription is
 * not plain, or its selection is too large to compile. Each event is written once for all these viewers; its text is kept as long as the
 * event.
 */
export function encoderOf(prepared: PreparedOperation): EventEncoder | null {
  const known = knownEncoderOf(prepared);
  if (known !== undefined) return known;
  const root = rootOf(prepared);
  if (root === null) return null;
  const { derived } = prepared.valid;
  const encoder = compile(prepared, root, fragmentsOf(prepared));
  derived.set(keyOf(prepared, root), encoder);
  const [oldest] = derived.keys();
  if (derived.size > maxEncoders && oldest !== undefined) derived.delete(oldest);
  return encoder;
}

/** The encoder that `encoderOf` returns if it needs no compilation; undefined if it would have to compile. */
export function knownEncoderOf(prepared: PreparedOperation): EventEncoder | null | undefined {
  const root = rootOf(prepared);
  if (root === null || !isPlainData(root.field)) return null;
  return prepared.valid.derived.get(keyOf(prepared, root)) as EventEncoder | null | undefined; // only `encoderOf` sets it
}

function keyOf(prepared: PreparedOperation, { node }: Root): string {
  return `${prepared.operation.name?.value ?? ''} ${chosenBy(prepared, node)}`;
}

interface Root {
  readonly node: FieldNode;
  readonly field: GraphQLField<unknown, unknown>;
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The only root field of a subscription. Null: the field is inside a fragment, and GraphQL's own execution writes its events. */
function rootOf({ schema, operation }: PreparedOperation): Root | null {
  const [node] = operation.selectionSet.selections;
  if (node?.kind !== Kind.FIELD || operation.selectionSet.selections.length !== 1) return null;
  const field = schema.getSubscriptionType()?.getFields()[node.name.value];
  return field === undefined ? null : { node, field };
}

function fragmentsOf({ document }: PreparedOperation): Fragments {
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}

/** The values of the variables that affect the text of an event. */
function chosenBy(prepared: PreparedOperation, root: FieldNode): string {
  const { operation, variables } = prepared;
  if ((operation.variableDefinitions ?? []).length === 0) return '';
  const names = choosing.get(operation) ?? choosingVariables(root, fragmentsOf(prepared));
  choosing.set(operation, names);
  return JSON.stringify(names.map((name) => [name, variables[name]]));
}

const choosing = new WeakMap<OperationDefinitionNode, readonly string[]>();

/** The variables except those that occur only in the arguments of the root field: these select the job and its first event. */
function choosingVariables(root: FieldNode, fragments: Fragments): readonly string[] {
  const names = new Set<string>();
  const visitor = { Variable: ({ name }: VariableNode) => void names.add(name.value) };
  for (const part of [...(root.directives ?? []), ...(root.selectionSet?.selections ?? []), ...fragments.values()])
    visit(part, visitor);
  return [...names];
}

function compile(prepared: PreparedOperation, { node, field }: Root, fragments: Fragments): EventEncoder | null {
  const { schema, variables } = prepared;
  try {
    const source = { schema, fragments, variables, budget: { visits: maxVisits } };
    return createEncoder(compileSelection(source, field.type, [node]), node.alias?.value ?? node.name.value);
  } catch (error) {
    if (error instanceof CannotWrite) return null;
    throw error;
  }
}

function createEncoder(write: Writer, key: string): EventEncoder {
  const written = new WeakMap<object, string>();
  const before = `{"data":{${JSON.stringify(key)}:`;
  return {
    encode: (event) => {
      const known = written.get(event);
      if (known !== undefined) return known;
      try {
        const text = `${before}${write(event)}}}`;
        written.set(event, text);
        return text;
      } catch {
        return null;
      }
    },
  };
}
