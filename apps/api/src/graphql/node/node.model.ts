import { Field, ID, InterfaceType } from '@nestjs/graphql';

/** Anything that can be found again by one id. */
@InterfaceType({
  description: 'Anything that `node` finds again.',
  resolveType: (value: { readonly __typename: string }) => value.__typename,
})
export abstract class Node {
  @Field(() => ID, { description: 'Opaque and unique over all types; for `node(id)` and for caches.' })
  nodeId!: string;
}
