import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** An instant: in the code a number (ms since the epoch), for clients an RFC 3339 string. Input without an offset is rejected. */
export const DateTime = new GraphQLScalarType<number, string>({
  name: 'DateTime',
  description:
    'An instant as an RFC 3339 string with an offset, such as `2026-11-20T08:15:00.000Z`. Returned in UTC with milliseconds.',
  serialize: (value) => {
    if (typeof value !== 'number') throw new GraphQLError('DateTime: not an instant');
    return new Date(value).toISOString();
  },
  parseValue: (value) => toInstant(value),
  parseLiteral: (node) => toInstant(node.kind === Kind.STRING ? node.value : undefined),
});

function toInstant(value: unknown): number {
  const text = typeof value === 'string' && pattern.test(value) ? value : '';
  const at = Date.parse(text);
  // Date.parse converts the 30th of February to a day in March, so the parsed day must equal the written one.
  const isReal =
    !Number.isNaN(at) &&
    !text.startsWith('0000') &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10));
  if (!isReal)
    throw new GraphQLError('DateTime: expected an RFC 3339 string with an offset, such as 2026-11-20T08:15:00Z');
  return at;
}
