import type { Type } from '@nestjs/common';
import { Field, Int, ObjectType } from '@nestjs/graphql';

@ObjectType({ description: 'The position of a page in its list (GraphQL Cursor Connections).' })
export class PageInfo {
  @Field(() => Boolean, { description: 'Whether entries follow this page.' })
  hasNextPage!: boolean;

  @Field(() => Boolean, { description: 'Whether entries come before this page.' })
  hasPreviousPage!: boolean;

  @Field(() => String, { nullable: true, description: 'Cursor of the first entry; null for an empty page.' })
  startCursor!: string | null;

  @Field(() => String, { nullable: true, description: 'Cursor of the last entry; null for an empty page.' })
  endCursor!: string | null;
}

/** Makes the connection type of a node type: `edges`, `nodes`, `pageInfo`, `totalCount`. */
export function connectionOf<T>(node: Type<T>, name: string): Type<object> {
  @ObjectType(`${name}Edge`, { description: `An entry of a list of ${name}.` })
  class Edge {
    @Field(() => String, { description: 'Opaque. Pass it as `after` or `before`.' })
    cursor!: string;

    @Field(() => node, { description: 'The entry itself.' })
    node!: T;
  }

  @ObjectType(`${name}Connection`, { description: `A page of a list of ${name}.` })
  class Connection {
    @Field(() => [Edge], { description: 'The entries with their cursors.' })
    edges!: Edge[];

    @Field(() => [node], { description: 'The entries without cursors.' })
    nodes!: T[];

    @Field(() => PageInfo, { description: 'The position of this page in the list.' })
    pageInfo!: PageInfo;

    @Field(() => Int, { nullable: true, description: 'Length of the whole list. Counted only when selected.' })
    totalCount!: number | null;
  }
  return Connection;
}
