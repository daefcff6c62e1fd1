import { Field, InputType, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum, payloadOf } from '#platform/api';

import type { SyntrixSettings } from '../../syntrix/syntrix-connection.js';

export const SyntrixApiStyleEnum = defineEnum('SyntrixApiStyle', 'The routes of a Syntrix database.', {
  V1: ['v1', '`/api/v1/{path}`.'],
  DATABASES: ['databases', '`/api/v1/databases/{database}/documents/{path}`.'],
});

export const SyntrixAuthEnum = defineEnum(
  'SyntrixAuth',
  'Which token requests to a Syntrix database have. `preIssuedToken` is a token that the database sends with a delivery.',
  {
    NONE: ['none', 'The `preIssuedToken` of the delivery; without one, no token.'],
    PREISSUED: [
      'preissued',
      'The workspace secret that `token` names; if `token` is absent, the `preIssuedToken` of the delivery. In both cases, a delivery without `preIssuedToken` is refused.',
    ],
    TOKEN: ['token', 'The workspace secret that `token` of the connection names.'],
  },
);

export const SyntrixToolCallScopeEnum = defineEnum(
  'SyntrixToolCallScope',
  'Which tool calls of a chat count against its limit.',
  {
    HISTORY: ['history', 'All tool calls of the chat.'],
    TURN: ['turn', 'The tool calls after the last message of the user.'],
  },
);

@ObjectType('SyntrixConnection', { description: 'A Syntrix database whose chats the workspace answers.' })
export class SyntrixConnectionModel {
  @Field(() => String, {
    description: 'Its id. Deliveries go to `/webhook/<id or name>/llm` and `/webhook/<id or name>/tool`.',
  })
  id!: string;

  @Field(() => String, {
    description: 'Its name. Deliveries to `/webhook/llm` and `/webhook/tool` are for the connection `default`.',
  })
  name!: string;

  @Field(() => String, { description: 'The URL of the server of the database.' })
  baseUrl!: string;

  @Field(() => SyntrixApiStyleEnum, { description: 'The routes of its API.' })
  apiStyle!: SyntrixSettings['apiStyle'];

  @Field(() => String, { description: 'The name of the database on that server.' })
  database!: string;

  @Field(() => SyntrixAuthEnum, { description: 'Which token requests to it have.' })
  auth!: SyntrixSettings['auth'];

  @Field(() => String, {
    nullable: true,
    description: 'The name of the workspace secret that signs its deliveries.',
  })
  secret?: string | null;

  @Field(() => String, { nullable: true, description: 'The name of the workspace secret that is its token.' })
  token?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The model that answers. Null: the default model of the workspace.',
  })
  model?: string | null;

  @Field(() => [String], { description: 'The names of the tools that its chats may use.' })
  tools!: readonly string[];

  @Field(() => String, { nullable: true, description: 'The first message of each model request.' })
  systemPrompt?: string | null;

  @Field(() => String, { description: 'The collection of tool calls in a chat.' })
  toolCollection!: string;

  @Field(() => Int, { description: 'After more tool calls than this, the model answers without tools.' })
  maxToolCalls!: number;

  @Field(() => SyntrixToolCallScopeEnum, { description: 'Which tool calls `maxToolCalls` counts.' })
  maxToolCallsScope!: SyntrixSettings['maxToolCallsScope'];

  @Field(() => Int, {
    nullable: true,
    description: 'The number of deliveries that may start a job in a second. Null: no limit.',
  })
  rateLimit?: number | null;

  @Field(() => String, {
    description:
      'The member or API key that saved it last, as `user:<id>` or `key:<id>`. Its jobs run with these rights.',
  })
  savedBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was last saved.' })
  updatedAt!: number;
}

export const SyntrixConnectionConnection = connectionOf(SyntrixConnectionModel, 'SyntrixConnection');

@InputType({ description: 'A connection to save. An absent field gets its default.' })
export class SaveSyntrixConnectionInput {
  @Field(() => String, {
    description:
      'Its name: at most 128 letters, digits, `_` and `-`. A connection with this name is replaced. Other workspaces may use it too: send deliveries to the id then.',
  })
  name!: string;

  @Field(() => String, {
    nullable: true,
    description: 'The URL of the server of the database. Default: `http://localhost:8080`.',
  })
  baseUrl?: string;

  @Field(() => SyntrixApiStyleEnum, { nullable: true, description: 'The routes of its API. Default: `V1`.' })
  apiStyle?: SyntrixSettings['apiStyle'];

  @Field(() => String, { nullable: true, description: 'The name of the database on that server. Default: `default`.' })
  database?: string;

  @Field(() => SyntrixAuthEnum, { nullable: true, description: 'Which token requests to it have. Default: `NONE`.' })
  auth?: SyntrixSettings['auth'];

  @Field(() => String, {
    nullable: true,
    description: 'The name of the workspace secret that signs its deliveries.',
  })
  secret?: string;

  @Field(() => String, { nullable: true, description: 'The name of the workspace secret that is its token.' })
  token?: string;

  @Field(() => String, {
    nullable: true,
    description: 'The model that answers. Default: the default model of the workspace.',
  })
  model?: string;

  @Field(() => [String], {
    nullable: true,
    description: 'The names of the tools that its chats may use. Default: none.',
  })
  tools?: readonly string[];

  @Field(() => String, {
    nullable: true,
    description: 'The first message of each model request, at most 20,000 characters.',
  })
  systemPrompt?: string;

  @Field(() => String, { nullable: true, description: 'The collection of tool calls in a chat. Default: `toolcall`.' })
  toolCollection?: string;

  @Field(() => Int, {
    nullable: true,
    description: 'After more tool calls than this, the model answers without tools. Default: 5.',
  })
  maxToolCalls?: number;

  @Field(() => SyntrixToolCallScopeEnum, {
    nullable: true,
    description: 'Which tool calls `maxToolCalls` counts. Default: `HISTORY`.',
  })
  maxToolCallsScope?: SyntrixSettings['maxToolCallsScope'];

  @Field(() => Int, {
    nullable: true,
    description: 'The number of deliveries that may start a job in a second. Default: no limit.',
  })
  rateLimit?: number;
}

@InputType({ description: 'The connection to delete.' })
export class DeleteSyntrixConnectionInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string;
}

export const SyntrixConnectionPayload = payloadOf({
  name: 'SyntrixConnectionPayload',
  description: 'The connection after the change (before it, if deleted), or the reasons why nothing changed.',
  fields: { syntrixConnection: [SyntrixConnectionModel, 'The connection.'] },
});
