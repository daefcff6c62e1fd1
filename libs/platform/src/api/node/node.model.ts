import { Field, ID, InterfaceType } from '@nestjs/graphql';

/** An object that `node(id)` can return. */
@InterfaceType({
  description: 'An object that `node(id)` can return.',
  resolveType: (value: { readonly __typename: string }) => value.__typename,
})
export abstract class Node {
  @Field(() => ID, { description: 'Opaque id, unique over all types, for `node(id)` and client caches.' })
  nodeId!: string;
}
