import { Field, ID, InputType, Int } from '@nestjs/graphql';

import type { ToolEffect } from '#tools';

import { ToolEffectEnum } from '../tools/tool.model.js';

@InputType({ description: 'A header or variable that a server is given.' })
export class McpSettingInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its value. Credentials only as secrets of the workspace: `{{secret:NAME}}`.' })
  value!: string;
}

@InputType({ description: 'What calling one tool twice is said to do.' })
export class McpToolEffectInput {
  @Field(() => String, { description: "The server's name for the tool." })
  tool!: string;

  @Field(() => ToolEffectEnum, { description: 'What it would do.' })
  effect!: ToolEffect;
}

@InputType({ description: 'A server over streamable HTTP.' })
export class McpHttpInput {
  @Field(() => String, { description: 'Where it is: http(s), without name and password.' })
  url!: string;

  @Field(() => [McpSettingInput], { nullable: true, description: 'Headers of each request.' })
  headers?: McpSettingInput[] | null;
}

@InputType({ description: 'A server that is a process of this server. Only where the operator allows it.' })
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
  @Field(() => Int, { nullable: true, description: "Ms until a call is aborted; null: the server's default." })
  timeoutMs?: number | null;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether calls go to the isolated tool queue, so that jobs wait for them without a slot.',
  })
  isolated?: boolean | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether effects may promise more than the tools' own hints: only for servers you vouch for.",
  })
  trusted?: boolean | null;

  @Field(() => ToolEffectEnum, {
    nullable: true,
    description:
      'What calling any of its tools twice does; counts when stricter than the hints, or the server is trusted.',
  })
  effect?: ToolEffect | null;

  @Field(() => [McpToolEffectInput], { nullable: true, description: 'The same for single tools; replaces the list.' })
  effects?: McpToolEffectInput[] | null;
}

@InputType({ description: 'Tools to accept as they are listed.' })
export class McpAcceptanceInput {
  @Field(() => [String], { nullable: true, description: "Which, by the server's names." })
  names?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'All that are listed and can be offered.' })
  all?: boolean | null;
}

@InputType({ description: 'An MCP server to set up: over `http` or `stdio`, one of them.' })
export class RegisterMcpServerInput {
  @Field(() => String, {
    description: "Its name, unique in the workspace: 1 to 32 of a-z, 0-9, `_` and `-`. Its tools' names begin with it.",
  })
  name!: string;

  @Field(() => McpHttpInput, { nullable: true, description: 'Where it is, over HTTP.' })
  http?: McpHttpInput | null;

  @Field(() => McpStdioInput, { nullable: true, description: 'What to run, as a process.' })
  stdio?: McpStdioInput | null;

  @Field(() => McpCallsInput, { nullable: true, description: 'How its tools are called.' })
  calls?: McpCallsInput | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether its accepted tools are offered; true by default.' })
  enabled?: boolean | null;

  @Field(() => McpAcceptanceInput, {
    nullable: true,
    description: 'Tools to accept at once, unseen. Absent: none; look at them first, then `acceptMcpTools`.',
  })
  accept?: McpAcceptanceInput | null;
}

@InputType({
  description: 'What changes about an MCP server; what is absent stays. The kind of transport stays as well.',
})
export class UpdateMcpServerInput {
  @Field(() => ID, { description: 'Which server.' })
  id!: string;

  @Field(() => String, { nullable: true, description: 'Its name. Its tools are offered under other names then.' })
  name?: string | null;

  @Field(() => McpHttpInput, {
    nullable: true,
    description: 'Where it is. At another URL nothing that was accepted is accepted any more.',
  })
  http?: McpHttpInput | null;

  @Field(() => McpStdioInput, {
    nullable: true,
    description: 'What to run. With another command nothing that was accepted is accepted any more.',
  })
  stdio?: McpStdioInput | null;

  @Field(() => McpCallsInput, { nullable: true, description: 'How its tools are called.' })
  calls?: McpCallsInput | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether its accepted tools are offered.' })
  enabled?: boolean | null;
}

@InputType({ description: 'Which MCP server.' })
export class McpServerRefInput {
  @Field(() => ID, { description: 'The server.' })
  id!: string;
}

@InputType({ description: 'Which tools of which server are accepted: `names`, or `all`.' })
export class AcceptMcpToolsInput {
  @Field(() => ID, { description: 'The server.' })
  serverId!: string;

  @Field(() => [String], { nullable: true, description: "Which, by the server's names." })
  names?: string[] | null;

  @Field(() => Boolean, { nullable: true, description: 'All that are listed and can be offered.' })
  all?: boolean | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Hashes of the definitions you have looked at: a tool with another one is refused (`conflict`).',
  })
  seen?: string[] | null;
}

@InputType({ description: 'Which tools of which server are not accepted any more.' })
export class RevokeMcpToolsInput {
  @Field(() => ID, { description: 'The server.' })
  serverId!: string;

  @Field(() => [String], { description: "Which, by the server's names." })
  names!: string[];
}
