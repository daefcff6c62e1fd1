import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

/** An operation for one root field of the schema, with values for its arguments. */
export interface WalkedOperation {
  readonly kind: 'query' | 'mutation' | 'subscription';
  readonly name: string;
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Whether any argument takes an id. */
  readonly takesId: boolean;
}

/** Pages small enough that everything in them can be asked for at once, definitions and pictures included. */
const pageSize = 1;

/** One operation for every root field. Every argument that takes an id gets `id`; of the others only what is required. */
export function operationsOf(schema: GraphQLSchema, id: string): readonly WalkedOperation[] {
  const roots = {
    query: schema.getQueryType(),
    mutation: schema.getMutationType(),
    subscription: schema.getSubscriptionType(),
  };
  return (['query', 'mutation', 'subscription'] as const).flatMap((kind) =>
    Object.values(roots[kind]?.getFields() ?? {}).map((field) => operationOf(kind, field, id)),
  );
}

function operationOf(
  kind: WalkedOperation['kind'],
  field: GraphQLField<unknown, unknown>,
  id: string,
): WalkedOperation {
  const used = field.args.filter((arg) => isWanted(arg) || arg.name === 'first');
  const header = used.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(', ');
  const passed = used.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const variables = Object.fromEntries(
    used.map((arg) => [arg.name, arg.name === 'first' ? pageSize : valueOf(arg.type, id)]),
  );
  const call = `${field.name}${passed === '' ? '' : `(${passed})`} ${selectionOf(field.type, 3)}`;
  return {
    kind,
    name: field.name,
    document: `${kind} Walk${header === '' ? '' : `(${header})`} { ${call} }`,
    variables,
    takesId: JSON.stringify(variables).includes(id),
  };
}

function isWanted(member: GraphQLArgument | GraphQLInputField): boolean {
  return isNonNullType(member.type) || getNamedType(member.type).name === 'ID' || containsId(member.type);
}

function containsId(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  return isInputObjectType(named) && Object.values(named.getFields()).some((field) => isWanted(field));
}

function valueOf(type: GraphQLInputType, id: string): unknown {
  if (isNonNullType(type)) return valueOf(type.ofType, id);
  if (isListType(type)) return [valueOf(type.ofType, id)];
  if (isInputObjectType(type)) {
    const wanted = Object.values(type.getFields()).filter((field) => isWanted(field));
    return Object.fromEntries(wanted.map((field) => [field.name, valueOf(field.type, id)]));
  }
  if (isEnumType(type)) return type.getValues()[0]?.name;
  switch (type.name) {
    case 'ID':
      return id;
    case 'Int':
    case 'Float':
      return 1;
    case 'Boolean':
      return false;
    case 'DateTime':
      return '2040-01-01T00:00:00Z';
    default:
      return 'walk@example.org';
  }
}

/** Everything down to `depth` that needs no arguments; for an object nested in its own type, only `__typename`. */
function selectionOf(type: GraphQLOutputType, depth: number, inside: readonly string[] = []): string {
  const named = getNamedType(type);
  if (isLeafType(named)) return '';
  if (!isObjectType(named) || inside.includes(named.name)) return '{ __typename }';
  const fields = Object.values(named.getFields())
    .filter((field) => !field.args.some((arg) => isNonNullType(arg.type)))
    .filter((field) => isLeafType(getNamedType(field.type)) || depth > 1)
    .map((field) => `${field.name} ${selectionOf(field.type, depth - 1, [...inside, named.name])}`);
  return `{ __typename ${fields.join(' ')} }`;
}
