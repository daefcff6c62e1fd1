import { Field, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { ToolEffect, ToolRuntime, ToolSort } from '#tools';

import { Json } from '../graphql/scalars/json.scalar.js';

/** GraphQL's names of who runs a tool. */
export const ToolRuntimeEnum = {
  HYBRID: 'hybrid',
  CLIENT: 'client',
  SERVER: 'server',
} as const satisfies Record<Uppercase<ToolRuntime>, ToolRuntime>;

registerEnumType(ToolRuntimeEnum, {
  name: 'ToolRuntime',
  description: 'Who can run a tool.',
  valuesMap: {
    HYBRID: { description: 'The server, or the client where there is no handler.' },
    CLIENT: { description: 'Only the client that asked.' },
    SERVER: { description: 'Only the server.' },
  },
});

/** GraphQL's names of what calling a tool twice would do. */
export const ToolEffectEnum = {
  PURE: 'pure',
  IDEMPOTENT: 'idempotent',
  ONCE: 'once',
} as const satisfies Record<Uppercase<ToolEffect>, ToolEffect>;

registerEnumType(ToolEffectEnum, {
  name: 'ToolEffect',
  description: 'What calling a tool twice would do.',
  valuesMap: {
    PURE: { description: 'Nothing: it changes nothing.' },
    IDEMPOTENT: { description: 'The same as once: the far side knows the idempotency key.' },
    ONCE: { description: 'It would happen twice, so it is called at most once.' },
  },
});

/** GraphQL's names of what answers a call. */
export const ToolSortEnum = {
  SERVER: 'server',
  CLIENT: 'client',
  HTTP: 'http',
  MCP: 'mcp',
} as const satisfies Record<Uppercase<ToolSort>, ToolSort>;

registerEnumType(ToolSortEnum, {
  name: 'ToolSort',
  description: 'What kind of thing answers a call.',
  valuesMap: {
    SERVER: { description: 'Code of this server.' },
    CLIENT: { description: 'The client that asked.' },
    HTTP: { description: 'An HTTP tool that the workspace has defined.' },
    MCP: { description: 'An MCP server that the workspace has connected.' },
  },
});

/** A tool that a workspace can use. */
@ObjectType('Tool', {
  description: 'A tool that can be used here; advertise it in `startChat` to let the model call it.',
})
export class ToolModel {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'What the model reads about it.' })
  description!: string;

  @Field(() => Json, { description: 'JSON Schema of its arguments.' })
  parameters!: unknown;

  @Field(() => ToolRuntimeEnum, { description: 'Who can run it.' })
  runtime!: string;

  @Field(() => ToolSortEnum, { description: 'What answers its calls.' })
  sort!: string;

  @Field(() => String, { description: 'Changes whenever what the model reads or what runs changes.' })
  version!: string;

  @Field(() => ToolEffectEnum, { description: 'What calling it twice would do.' })
  effect!: string;

  @Field(() => Int, { nullable: true, description: "Ms until a call is aborted; null: the server's default." })
  timeoutMs!: number | null;
}
