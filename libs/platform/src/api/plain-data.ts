import { Extensions } from '@nestjs/graphql';
import type { GraphQLField } from 'graphql';

const key = 'plainData';

/**
 * Declares that a subscription sends plain data: no field below it has a resolver, and none depends on the viewer. A compiled selection then
 * serializes a message once for all viewers with the same document.
 */
export const PlainData = () => Extensions({ [key]: true });

/** Whether a field was declared with `PlainData`. */
export function isPlainData(field: GraphQLField<unknown, unknown>): boolean {
  return field.extensions[key] === true;
}
