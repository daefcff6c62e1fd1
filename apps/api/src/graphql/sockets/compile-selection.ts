import {
  type FieldNode,
  type FragmentDefinitionNode,
  getDirectiveValues,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionNode,
  typeFromAST,
} from 'graphql';

/** Writes a value as the same JSON text that an execution of the selection would give. */
export type Writer = (value: unknown) => string;

/** The input of a compilation. */
export interface SelectionSource {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Coerced variables: the compilation evaluates `@skip` and `@include`. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Selections that the compilation may still visit, counted for each possible type; below zero it throws `CannotWrite`. */
  readonly budget: { visits: number };
}

/** Thrown when a value does not fit its type, or a selection is too large to compile. GraphQL's own execution then writes the value. */
export class CannotWrite extends Error {}

/**
 * Compiles the selection of `field` (GraphQL specification, section 6.4) for plain data: each field reads the property of its name,
 * `__typename` selects the type, and nothing is asynchronous. Executing the selection costs several times as much; a test compares both for
 * every type.
 */
export function compileSelection(
  source: SelectionSource,
  type: GraphQLOutputType,
  fields: readonly FieldNode[],
): Writer {
  if (isNonNullType(type)) {
    const inner = compileSelection(source, type.ofType, fields);
    return (value) => {
      if (value == null) throw new CannotWrite();
      return inner(value);
    };
  }
  if (isListType(type)) {
    const inner = compileSelection(source, type.ofType, fields);
    return orNull((value) => {
      if (!Array.isArray(value)) throw new CannotWrite();
      return `[${value.map(inner).join(',')}]`;
    });
  }
  if (isLeafType(type)) return orNull((value) => JSON.stringify(type.serialize(value)));
  if (isObjectType(type)) return orNull(compileObject(source, type, fields));
  const byName = new Map<string, Writer>();
  for (const possible of source.schema.getPossibleTypes(type))
    byName.set(possible.name, compileObject(source, possible, fields));
  return orNull((value) => {
    const write = isTyped(value) ? byName.get(value.__typename) : undefined;
    if (write === undefined) throw new CannotWrite();
    return write(value);
  });
}

function orNull(write: Writer): Writer {
  return (value) => (value == null ? 'null' : write(value));
}

function compileObject(source: SelectionSource, type: GraphQLObjectType, nodes: readonly FieldNode[]): Writer {
  const collected = new Map<string, FieldNode[]>();
  const spread = new Set<string>();
  for (const node of nodes) collect({ source, type, into: collected, spread }, node.selectionSet?.selections ?? []);
  const members = [...collected].map(([key, fields]) => compileMember(source, type, { key, fields }));
  return (value) => {
    // The types of the schema allow only objects here. On any other value, property access gives undefined, which becomes null.
    const row = value as Readonly<Record<string, unknown>>;
    let text = '{';
    for (const { label, name, write } of members) text += (text === '{' ? '' : ',') + label + write(row[name]);
    return `${text}}`;
  };
}

interface Member {
  readonly label: string;
  readonly name: string;
  readonly write: Writer;
}

function compileMember(
  source: SelectionSource,
  type: GraphQLObjectType,
  { key, fields }: { readonly key: string; readonly fields: readonly FieldNode[] },
): Member {
  const label = `${JSON.stringify(key)}:`;
  const name = fields[0]?.name.value ?? '';
  const typeName = JSON.stringify(type.name);
  if (name === '__typename') return { label, name, write: () => typeName };
  const field = type.getFields()[name];
  if (field === undefined || field.args.length > 0) throw new CannotWrite();
  return { label, name, write: compileSelection(source, field.type, fields) };
}

interface Collecting {
  readonly source: SelectionSource;
  readonly type: GraphQLObjectType;
  readonly into: Map<string, FieldNode[]>;
  /** Fragments that are already collected; a second spread adds nothing. */
  readonly spread: Set<string>;
}

/**
 * CollectFields of the specification, section 6.3.2. Visits each fragment once; otherwise fragments that spread each other twice take
 * exponential time.
 */
function collect(collecting: Collecting, selections: readonly SelectionNode[]): void {
  const { source, type, into, spread } = collecting;
  for (const selection of selections) {
    source.budget.visits -= 1;
    if (source.budget.visits < 0) throw new CannotWrite();
    if (!isIncluded(source, selection)) continue;
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      const same = into.get(key);
      if (same === undefined) into.set(key, [selection]);
      else same.push(selection);
      continue;
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      if (spread.has(selection.name.value)) continue;
      spread.add(selection.name.value);
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : source.fragments.get(selection.name.value);
    if (fragment === undefined) throw new CannotWrite();
    const condition = fragment.typeCondition === undefined ? type : typeFromAST(source.schema, fragment.typeCondition);
    const applies = condition === type || (isAbstractType(condition) && source.schema.isSubType(condition, type));
    if (applies) collect(collecting, fragment.selectionSet.selections);
  }
}

function isIncluded({ variables }: SelectionSource, selection: SelectionNode): boolean {
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, { ...variables });
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, { ...variables });
  return skip?.['if'] !== true && include?.['if'] !== false;
}

function isTyped(value: unknown): value is { readonly __typename: string } {
  return typeof value === 'object' && value !== null && '__typename' in value && typeof value.__typename === 'string';
}
