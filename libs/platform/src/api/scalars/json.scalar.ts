import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql';

/** Any JSON value, unchanged except that members named `__proto__` are left out. Numbers are JSON numbers. */
export const Json = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any JSON value: object, array, text, number, true, false or null.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => toValue(node, variables ?? {}),
});

type Variables = Readonly<Record<string, unknown>>;

function toValue(node: ValueNode, variables: Variables): unknown {
  switch (node.kind) {
    case Kind.STRING:
    case Kind.BOOLEAN:
      return node.value;
    case Kind.INT:
    case Kind.FLOAT:
      return Number(node.value);
    case Kind.LIST:
      return node.values.map((item) => toValue(item, variables));
    case Kind.OBJECT:
      return Object.fromEntries(
        node.fields
          .filter(({ name }) => name.value !== '__proto__')
          .map(({ name, value }) => [name.value, toValue(value, variables)]),
      );
    case Kind.NULL:
      return null;
    case Kind.VARIABLE:
      return variables[node.name.value];
    case Kind.ENUM:
      throw new GraphQLError(`JSON: ${node.value} is not a JSON value`);
  }
}
