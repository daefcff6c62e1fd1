import { Field, ID, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import type { McpSettings, McpToolStatus } from '#tools';

import { connectionOf } from '../graphql/connections/connection.model.js';
import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { Json } from '../graphql/scalars/json.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { ToolEffectEnum } from '../tools/tool.model.js';

/** GraphQL's names of how a server is reached. */
export const McpTransportEnum = {
  HTTP: 'http',
  STDIO: 'stdio',
} as const satisfies Record<Uppercase<McpSettings['transport']>, McpSettings['transport']>;

registerEnumType(McpTransportEnum, {
  name: 'McpTransport',
  description: 'How an MCP server is reached.',
  valuesMap: {
    HTTP: { description: 'Over streamable HTTP.' },
    STDIO: { description: 'As a process of this server, where the operator allows it.' },
  },
});

/** GraphQL's names of how a tool stands between what was accepted and what its server says. */
export const McpToolStatusEnum = {
  NEW: 'new',
  ACCEPTED: 'accepted',
  CHANGED: 'changed',
  GONE: 'gone',
} as const satisfies Record<Uppercase<McpToolStatus>, McpToolStatus>;

registerEnumType(McpToolStatusEnum, {
  name: 'McpToolStatus',
  description: 'How a tool stands between what was accepted and what its server says.',
  valuesMap: {
    NEW: { description: 'Nobody has accepted it: it is not offered.' },
    ACCEPTED: { description: 'As it was accepted: it is offered.' },
    CHANGED: { description: 'Its definition is another one by now: it is not offered until it is accepted again.' },
    GONE: { description: 'It was accepted, and the server does not list it any more.' },
  },
});

@ObjectType({ description: 'A header or variable that a server is given.' })
export class McpSetting {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its value as it was written; `{{secret:NAME}}` stands for a secret.' })
  value!: string;
}

@ObjectType({ description: 'What calling one tool twice is said to do.' })
export class McpToolEffect {
  @Field(() => String, { description: "The server's name for the tool." })
  tool!: string;

  @Field(() => ToolEffectEnum, { description: 'What it would do.' })
  effect!: string;
}

@ObjectType({ description: 'Where an MCP server is and how its tools are called.' })
export class McpServerSettings {
  @Field(() => String, { nullable: true, description: 'Where it is; null for a process.' })
  url!: string | null;

  @Field(() => [McpSetting], { description: 'Headers of each request.' })
  headers!: McpSetting[];

  @Field(() => String, { nullable: true, description: 'The command of its process; null for a server over HTTP.' })
  command!: string | null;

  @Field(() => [String], { description: 'Arguments of the command.' })
  args!: string[];

  @Field(() => [McpSetting], { description: 'Variables of the process, besides a few harmless ones.' })
  env!: McpSetting[];

  @Field(() => Int, { nullable: true, description: "Ms until a call is aborted; null: the server's default." })
  timeoutMs!: number | null;

  @Field(() => Boolean, { description: 'Whether calls go to the isolated tool queue.' })
  isolated!: boolean;

  @Field(() => Boolean, { description: "Whether effects may promise more than the tools' own hints." })
  trusted!: boolean;

  @Field(() => ToolEffectEnum, { nullable: true, description: 'What calling any of its tools twice is said to do.' })
  effect!: string | null;

  @Field(() => [McpToolEffect], { description: 'The same for single tools.' })
  effects!: McpToolEffect[];
}

@ObjectType({ description: 'Where the definition of a tool is not what was accepted.' })
export class McpToolDifference {
  @Field(() => String, { description: 'The member, as in `inputSchema.properties.to.description`.' })
  path!: string;

  @Field(() => String, {
    nullable: true,
    description: 'As it was accepted: JSON, cut when long; null: there was none.',
  })
  accepted!: string | null;

  @Field(() => String, { nullable: true, description: 'As the server says now; null: there is none.' })
  current!: string | null;
}

@ObjectType('McpTool', { description: 'A tool of an MCP server.' })
export class McpToolModel {
  @Field(() => String, { description: "The server's name for it." })
  name!: string;

  @Field(() => String, { description: 'The name under which models see it, once accepted: `server.tool`.' })
  offeredAs!: string;

  @Field(() => McpToolStatusEnum, { description: 'Whether it is offered.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'Why it cannot be offered even when accepted; null: it can.' })
  problem!: string | null;

  @Field(() => ToolEffectEnum, { description: 'What calling it twice would do, by its hints and the settings.' })
  effect!: string;

  @Field(() => String, { nullable: true, description: 'What the server says of it now.' })
  description!: string | null;

  @Field(() => Json, { description: 'JSON Schema of its arguments, as the server says now.' })
  inputSchema!: unknown;

  @Field(() => Json, { nullable: true, description: 'JSON Schema of its structured results.' })
  outputSchema!: unknown;

  @Field(() => Json, { nullable: true, description: 'Its hints, which nobody checks.' })
  annotations!: unknown;

  @Field(() => String, { description: 'Fingerprint of the definition as it is now; goes into `seen` when accepting.' })
  hash!: string;

  @Field(() => [McpToolDifference], { description: 'Where it differs from what was accepted; empty when it does not.' })
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

  @Field(() => String, { description: "Its name, unique in the workspace, and the beginning of its tools' names." })
  name!: string;

  @Field(() => McpTransportEnum, { description: 'How it is reached.' })
  transport!: string;

  @Field(() => Boolean, { description: 'Whether its accepted tools are offered.' })
  enabled!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Why it could not be asked for its tools, or not for all; null: all is well.',
  })
  problem!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When its tools were last listed.' })
  listedAt!: number | null;

  @Field(() => McpServerSettings, {
    nullable: true,
    description: 'Where it is and how its tools are called; null for those who may not manage it.',
  })
  settings!: McpServerSettings | null;

  @Field(() => [McpToolModel], { description: 'Its tools by name, 200 at most.' })
  tools!: McpToolModel[];

  @Field(() => DateTime, { description: 'When it was set up.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: number;
}

@ObjectType({ description: 'The server as it is now (or was, when removed), or why nothing changed.' })
export class McpServerPayload {
  @Field(() => McpServerModel, { nullable: true, description: 'The server.' })
  mcpServer?: McpServerModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}

/** A page of MCP servers. */
export const McpServerConnection = connectionOf(McpServerModel, 'McpServer');
