import { Field, ID, InputType, Int } from '@nestjs/graphql';

import type { ToolEffect } from '#tools';
import { ToolEffectEnum } from '#tools/api';

@InputType({
  description:
    'A header that Nightshift sends to an MCP server, or an environment variable that it sets for its process.',
})
export class McpSettingInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its value. Credentials only as secrets of the workspace: `{{secret:NAME}}`.' })
  value!: string;
}

@InputType({ description: 'The declared effect of repeating a call of one tool.' })
export class McpToolEffectInput {
  @Field(() => String, { description: "The server's name for the tool." })
  tool!: string;

  @Field(() => ToolEffectEnum, { description: 'The effect.' })
  effect!: ToolEffect;
}

@InputType({ description: 'A server over streamable HTTP.' })
export class McpHttpInput {
  @Field(() => String, { description: 'Its http(s) URL, without user name and password.' })
  url!: string;

  @Field(() => [McpSettingInput], { nullable: true, description: 'Headers of each request.' })
  headers?: McpSettingInput[] | null;
}

@InputType({ description: 'An MCP server that Nightshift runs as a process. Only if the operator allows it.' })
export class McpStdioInput {
  @Field(() => String, { description: 'The command to run; no shell is involved.' })
  command!: string;

  @Field(() => [String], { nullable: true, description: 'Its arguments.' })
  args?: string[] | null;

  @Field(() => [McpSettingInput], { nullable: true, description: 'Its variables, besides PATH, HOME and the like.' })
  env?: McpSettingInput[] | null;
}

@InputType({ description: 'How the tools of a server are called.' })
export class McpCallsInput {
  @Field(() => Int, {
    nullable: true,
    description: 'The timeout of a call, in ms. Null: the default of the installation.',
  })
  timeoutMs?: number | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether calls run in the tool queue, so that jobs do not occupy a worker slot meanwhile.',
  })
  isolated?: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether `effect` and `effects` may be weaker than the tools' own hints. Set it only for servers that you trust.",
  })
  trusted?: boolean | null;

  @Field(() => ToolEffectEnum, {
    nullable: true,
    description:
      'The declared effect of repeating a call of any tool of the server. It replaces the effect given by the tool hints only if it is stricter, or if `trusted` is true.',
  })
  effect?: ToolEffect | null;

  @Field(() => [McpToolEffectInput], {
    nullable: true,
    description:
      'Declared effects of single tools. They take precedence over `effect`. The list replaces the stored list.',
  })
  effects?: McpToolEffectInput[] | null;
}

@InputType({ description: 'Tools to accept with their listed definitions.' })
export class McpAcceptanceInput {
  @Field(() => [String], { nullable: true, description: 'Names of the tools, as the server lists them.' })
  names?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Accepts every listed tool that can be offered.' })
  all?: boolean | null;
}

@InputType({ description: 'The MCP server to register. Set exactly one of `http` and `stdio`.' })
export class RegisterMcpServerInput {
  @Field(() => String, {
    description: "Its name, unique in the workspace: 1 to 32 of a-z, 0-9, `_` and `-`. Its tools' names begin with it.",
  })
  name!: string;

  @Field(() => McpHttpInput, { nullable: true, description: 'Its address over HTTP.' })
  http?: McpHttpInput | null;

  @Field(() => McpStdioInput, { nullable: true, description: 'The process to run.' })
  stdio?: McpStdioInput | null;

  @Field(() => McpCallsInput, { nullable: true, description: 'How its tools are called.' })
  calls?: McpCallsInput | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether its accepted tools are offered; true by default.' })
  enabled?: boolean | null;

  @Field(() => McpAcceptanceInput, {
    nullable: true,
    description: 'Tools to accept at once without review. Absent: none; review them, then call `acceptMcpTools`.',
  })
  accept?: McpAcceptanceInput | null;

  @Field(() => Boolean, {
    defaultValue: false,
    description:
      'If the workspace already has a server with this name, updates that server. Absent fields and the transport do not change.',
  })
  upsert!: boolean;
}

@InputType({
  description: 'The changes of an MCP server. Absent fields and the transport do not change.',
})
export class UpdateMcpServerInput {
  @Field(() => ID, { description: 'The server.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name. A new name also renames its tools.' })
  name?: string | null;

  @Field(() => McpHttpInput, {
    nullable: true,
    description: 'Its address. A new URL revokes all acceptances.',
  })
  http?: McpHttpInput | null;

  @Field(() => McpStdioInput, {
    nullable: true,
    description: 'The process to run. A new command revokes all acceptances.',
  })
  stdio?: McpStdioInput | null;

  @Field(() => McpCallsInput, { nullable: true, description: 'How its tools are called.' })
  calls?: McpCallsInput | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether its accepted tools are offered.' })
  enabled?: boolean | null;
}

@InputType({ description: 'The MCP server to act on.' })
export class McpServerRefInput {
  @Field(() => ID, { description: 'The server.' })
  id!: string;
}

@InputType({ description: 'The tools to accept: `names`, or `all`.' })
export class AcceptMcpToolsInput {
  @Field(() => ID, { description: 'The server.' })
  serverId!: string;

  @Field(() => [String], { nullable: true, description: 'Names of the tools, as the server lists them.' })
  names?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'Accepts every listed tool that can be offered.' })
  all?: boolean | null;

  @Field(() => [String], {
    nullable: true,
    description:
      'Hashes of the definitions that you reviewed, in any order. If the hash of a tool is not among them, nothing is accepted (`conflict`). Absent: the current definitions are accepted.',
  })
  seen?: string[] | null;
}

@InputType({ description: 'The tools whose acceptance is revoked.' })
export class RevokeMcpToolsInput {
  @Field(() => ID, { description: 'The server.' })
  serverId!: string;

  @Field(() => [String], { description: 'Names of the tools, as the server lists them.' })
  names!: string[];
}
