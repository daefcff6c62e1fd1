import { Field, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum, Json, payloadOf } from '#platform/api';
import { ToolEffectEnum } from '#tools/api';

import type { McpSettings, McpToolStatus } from '../../mcp/mcp-server.js';

/** The GraphQL names of the transports. */
export const McpTransportEnum = defineEnum('McpTransport', 'How an MCP server is reached.', {
  HTTP: ['http', 'Over streamable HTTP.'],
  STDIO: ['stdio', 'As a process that Nightshift starts, if the operator allows it.'],
}) satisfies Record<Uppercase<McpSettings['transport']>, McpSettings['transport']>;

/** The GraphQL names of the differences between the accepted definition of a tool and its current one. */
export const McpToolStatusEnum = defineEnum(
  'McpToolStatus',
  'The status of a tool: its accepted definition compared with the current one.',
  {
    NEW: ['new', 'Not accepted yet. The tool is not offered.'],
    ACCEPTED: ['accepted', 'The definition is the accepted one. The tool is offered.'],
    CHANGED: ['changed', 'The definition changed. The tool is not offered until it is accepted again.'],
    GONE: ['gone', 'The tool was accepted, and the server no longer lists it.'],
  },
) satisfies Record<Uppercase<McpToolStatus>, McpToolStatus>;

@ObjectType({
  description:
    'A header that Nightshift sends to an MCP server, or an environment variable that it sets for its process.',
})
export class McpSetting {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its value as written. `{{secret:NAME}}` refers to a secret.' })
  value!: string;
}

@ObjectType({ description: 'The declared effect of repeating a call of one tool.' })
export class McpToolEffect {
  @Field(() => String, { description: "The server's name for the tool." })
  tool!: string;

  @Field(() => ToolEffectEnum, { description: 'The effect.' })
  effect!: string;
}

@ObjectType({ description: 'The address of an MCP server and how its tools are called.' })
export class McpServerSettings {
  @Field(() => String, { nullable: true, description: 'Its URL. Null for a process.' })
  url!: string | null;

  @Field(() => [McpSetting], { description: 'Headers of each request.' })
  headers!: McpSetting[];

  @Field(() => String, { nullable: true, description: 'The command of its process; null for a server over HTTP.' })
  command!: string | null;

  @Field(() => [String], { description: 'Arguments of the command.' })
  args!: string[];

  @Field(() => [McpSetting], { description: 'Environment variables of the process, besides PATH, HOME and the like.' })
  env!: McpSetting[];

  @Field(() => Int, {
    nullable: true,
    description: 'The timeout of a call, in ms. Null: the default of the installation.',
  })
  timeoutMs!: number | null;

  @Field(() => Boolean, { description: 'Whether calls go to the tool queue.' })
  isolated!: boolean;

  @Field(() => Boolean, { description: "Whether `effect` and `effects` may be weaker than the tools' own hints." })
  trusted!: boolean;

  @Field(() => ToolEffectEnum, {
    nullable: true,
    description: 'The declared effect of repeating a call of any of its tools.',
  })
  effect!: string | null;

  @Field(() => [McpToolEffect], {
    description: 'Declared effects of single tools. They take precedence over `effect`.',
  })
  effects!: McpToolEffect[];
}

@ObjectType({ description: "A difference between a tool's current and accepted definition." })
export class McpToolDifference {
  @Field(() => String, { description: 'The member, as in `inputSchema.properties.to.description`.' })
  path!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The accepted value as JSON, truncated if long. Null: absent.',
  })
  accepted!: string | null;

  @Field(() => String, { nullable: true, description: 'The current value. Null: absent.' })
  current!: string | null;
}

@ObjectType('McpTool', { description: 'A tool of an MCP server.' })
export class McpToolModel {
  @Field(() => String, { description: "The server's name for it." })
  name!: string;

  @Field(() => String, { description: 'The name that models see after acceptance: `server.tool`.' })
  offeredAs!: string;

  @Field(() => McpToolStatusEnum, { description: 'Whether it is offered.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'Why it cannot be offered, even if accepted. Null: it can.' })
  problem!: string | null;

  @Field(() => ToolEffectEnum, { description: 'The effect of repeating a call, by its hints and the settings.' })
  effect!: string;

  @Field(() => String, { nullable: true, description: 'Its current description by the server.' })
  description!: string | null;

  @Field(() => Json, { description: 'JSON Schema of its arguments, as currently listed.' })
  inputSchema!: unknown;

  @Field(() => Json, { nullable: true, description: 'JSON Schema of its structured results.' })
  outputSchema!: unknown;

  @Field(() => Json, {
    nullable: true,
    description: 'Its MCP annotations, as the server declares them. Not verified.',
  })
  annotations!: unknown;

  @Field(() => String, {
    description: 'Fingerprint of the current definition. Pass it as `seen` when you accept the tool.',
  })
  hash!: string;

  @Field(() => [McpToolDifference], { description: 'Differences from the accepted definition. Empty: none.' })
  differences!: McpToolDifference[];

  @Field(() => String, { nullable: true, description: 'Who accepted it: `user:<id>` or `key:<id>`.' })
  acceptedBy!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was accepted.' })
  acceptedAt!: number | null;
}

@ObjectType('McpServer', { description: 'An MCP server of the workspace, with its tools.' })
export class McpServerModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: "Its name, unique in the workspace, and the prefix of its tools' names." })
  name!: string;

  @Field(() => McpTransportEnum, { description: 'How it is reached.' })
  transport!: string;

  @Field(() => Boolean, { description: 'Whether its accepted tools are offered.' })
  enabled!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Why its tools could not be listed completely. Null: no problem.',
  })
  problem!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When its tools were last listed.' })
  listedAt!: number | null;

  @Field(() => McpServerSettings, {
    nullable: true,
    description: 'Its address and how its tools are called. Null if the caller may not manage it.',
  })
  settings!: McpServerSettings | null;

  @Field(() => [McpToolModel], { description: 'Its tools by name, at most 200.' })
  tools!: McpToolModel[];

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

export const McpServerPayload = payloadOf({
  name: 'McpServerPayload',
  description: 'The server after the change (before it, if removed), or the reasons why nothing changed.',
  fields: { mcpServer: [McpServerModel, 'The server.'] },
});

/** A page of MCP servers. */
export const McpServerConnection = connectionOf(McpServerModel, 'McpServer');
