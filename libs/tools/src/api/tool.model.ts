import { Field, Int, ObjectType } from '@nestjs/graphql';

import { defineEnum, Json } from '#platform/api';

import type { ToolEffect, ToolRuntime, ToolSort } from '../tool.js';

/** The GraphQL names of the places where a tool can run. */
export const ToolRuntimeEnum = defineEnum('ToolRuntime', 'Where a tool can run.', {
  HYBRID: ['hybrid', 'On the server, or on the client if the server has no handler.'],
  CLIENT: ['client', 'Only on the client.'],
  SERVER: ['server', 'Only on the server.'],
}) satisfies Record<Uppercase<ToolRuntime>, ToolRuntime>;

/** The GraphQL names of the effects of repeating a call. */
export const ToolEffectEnum = defineEnum('ToolEffect', 'The effect of repeating a tool call.', {
  PURE: ['pure', 'No effect: the tool changes nothing.'],
  IDEMPOTENT: [
    'idempotent',
    'A repeated call has the same effect as one call, because the remote side honors the idempotency key.',
  ],
  ONCE: ['once', 'A repeated call would have its effect twice, so the tool is called at most once.'],
}) satisfies Record<Uppercase<ToolEffect>, ToolEffect>;

/** The GraphQL names of the kinds of tools. */
export const ToolSortEnum = defineEnum('ToolSort', 'What runs a call.', {
  SERVER: ['server', 'Code of the installation.'],
  CLIENT: ['client', 'The client.'],
  HTTP: ['http', 'An HTTP tool that the workspace has defined.'],
  MCP: ['mcp', 'An MCP server that the workspace has connected.'],
}) satisfies Record<Uppercase<ToolSort>, ToolSort>;

/** A tool that a workspace can use. */
@ObjectType('Tool', {
  description: 'A tool of the installation or of the workspace. Name it in `startChat` to let the model call it.',
})
export class ToolModel {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'What the model reads about it.' })
  description!: string;

  @Field(() => Json, { description: 'JSON Schema of its arguments.' })
  parameters!: unknown;

  @Field(() => ToolRuntimeEnum, { description: 'Where it can run.' })
  runtime!: string;

  @Field(() => ToolSortEnum, { description: 'What runs its calls.' })
  sort!: string;

  @Field(() => String, {
    description:
      'The version that its author sets, or else a fingerprint of its name, description and schema. When it changes, calls of jobs that were accepted before are refused.',
  })
  version!: string;

  @Field(() => ToolEffectEnum, { description: 'The effect of repeating a call.' })
  effect!: string;

  @Field(() => Int, {
    nullable: true,
    description: 'The timeout of a call, in ms. Null: the default of the installation.',
  })
  timeoutMs!: number | null;
}

/** A plugin that the process has loaded. */
@ObjectType('Plugin', {
  description: 'Code that the operator adds to the server: tools, hooks and types of workflow nodes.',
})
export class PluginModel {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'The version that its author sets.' })
  version!: string;

  @Field(() => String, { description: 'SHA-256 of its code: processes with the same hash run the same code.' })
  hash!: string;

  @Field(() => [String], { description: 'The names of its tools.' })
  tools!: readonly string[];

  @Field(() => [String], { description: 'The names of its hooks.' })
  hooks!: readonly string[];

  @Field(() => [String], {
    description: 'The types of its workflow nodes.',
  })
  nodes!: readonly string[];
}
