import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** An instant. Inside it is a number (ms since the epoch), outside RFC 3339 text; input without a zone is refused. */
export const DateTime = new GraphQLScalarType<number, string>({
  name: 'DateTime',
  description:
    'An instant as RFC 3339 text with its zone, such as `2026-11-20T08:15:00.000Z`. Sent in UTC with milliseconds.',
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
  // Date.parse rolls the 30th of February over into March; the day must come back as it was written.
  const isReal =
    !Number.isNaN(at) &&
    !text.startsWith('0000') &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10));
  if (!isReal) throw new GraphQLError('DateTime: expected RFC 3339 text with a zone, such as 2026-11-20T08:15:00Z');
  return at;
}
