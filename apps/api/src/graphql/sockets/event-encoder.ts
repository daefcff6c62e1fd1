import {
  type FieldNode,
  type FragmentDefinitionNode,
  getVariableValues,
  type GraphQLField,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';

import type { PreparedOperation } from '../documents/graphql-executor.js';
import { CannotWrite, compileSelection, type Writer } from './compile-selection.js';
import { isPlainData } from './plain-data.js';

/** Turns one event of a subscription into the JSON text of its execution result. */
export interface EventEncoder {
  /** Null: only GraphQL's own execution can tell (something does not fit its type). */
  encode(event: object): string | null;
}

const maxShapes = 16;

/**
 * The encoder that all viewers with this document and these variables share, or null when the subscription's data is not
 * plain. An event is written once for all of them; what was written lives as long as the event itself.
 */
export function encoderOf(prepared: PreparedOperation): EventEncoder | null {
  const root = rootOf(prepared);
  if (root === null || !isPlainData(root.field)) return null;
  const { valid, operation, request } = prepared;
  const shape = `${operation.name?.value ?? ''} ${usesVariables(prepared) ? JSON.stringify(request.variables ?? {}) : ''}`;
  const known = valid.derived.get(shape) as EventEncoder | null | undefined; // only this function writes there
  if (known !== undefined) return known;
  const made = compile(prepared, root);
  if (valid.derived.size < maxShapes) valid.derived.set(shape, made);
  return made;
}

interface Root {
  readonly node: FieldNode;
  readonly field: GraphQLField<unknown, unknown>;
}

/** A subscription has exactly one root field; behind a fragment it is left to GraphQL's own execution. */
function rootOf({ schema, operation }: PreparedOperation): Root | null {
  const [node] = operation.selectionSet.selections;
  if (node?.kind !== Kind.FIELD || operation.selectionSet.selections.length !== 1) return null;
  const field = schema.getSubscriptionType()?.getFields()[node.name.value];
  return field === undefined ? null : { node, field };
}

/** Variables that only choose the job or the cursor do not change how an event is written. */
function usesVariables({ document, operation }: PreparedOperation): boolean {
  if (operation.variableDefinitions === undefined || operation.variableDefinitions.length === 0) return false;
  const source = document.loc?.source.body ?? '@include';
  return /@(?:include|skip)\b/.test(source);
}

function compile(
  { schema, document, operation, request }: PreparedOperation,
  { node, field }: Root,
): EventEncoder | null {
  const fragments: Record<string, FragmentDefinitionNode> = {};
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  const { coerced } = getVariableValues(schema, definitionsOf(operation), { ...request.variables });
  if (coerced === undefined) return null;
  try {
    const write = compileSelection({ schema, fragments, variables: coerced }, field.type, [node]);
    return createEncoder(write, node.alias?.value ?? node.name.value);
  } catch (error) {
    if (error instanceof CannotWrite) return null;
    throw error;
  }
}

function definitionsOf(operation: OperationDefinitionNode) {
  return operation.variableDefinitions ?? [];
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
