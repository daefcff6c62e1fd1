import { Field, InputType, Int, ObjectType, registerEnumType } from '@nestjs/graphql';

import { connectionOf, DateTime, UserError } from '#platform/api';

export enum SyntrixApiStyle {
  V1 = 'v1',
  DATABASES = 'databases',
}

registerEnumType(SyntrixApiStyle, {
  name: 'SyntrixApiStyle',
  description: 'The routes of a Syntrix database.',
  valuesMap: {
    V1: { description: '`/api/v1/{path}`.' },
    DATABASES: { description: '`/api/v1/databases/{database}/documents/{path}`.' },
  },
});

export enum SyntrixAuth {
  NONE = 'none',
  PREISSUED = 'preissued',
  TOKEN = 'token',
}

registerEnumType(SyntrixAuth, {
  name: 'SyntrixAuth',
  description: 'Which token is sent to a Syntrix database.',
  valuesMap: {
    NONE: { description: 'None.' },
    PREISSUED: { description: 'The token of the delivery; deliveries without one are refused.' },
    TOKEN: { description: 'The secret of the workspace that the connection names.' },
  },
});

export enum SyntrixToolCallScope {
  HISTORY = 'history',
  TURN = 'turn',
}

registerEnumType(SyntrixToolCallScope, {
  name: 'SyntrixToolCallScope',
  description: 'Which tool calls of a chat count against its limit.',
  valuesMap: {
    HISTORY: { description: 'All of the chat.' },
    TURN: { description: 'Those after the last message of the user.' },
  },
});

@ObjectType('SyntrixConnection', { description: 'A Syntrix database whose chats the workspace answers.' })
export class SyntrixConnectionModel {
  @Field(() => String, { description: 'Its id, which the paths of deliveries may name.' })
  id!: string;

  @Field(() => String, { description: 'Its name, which the paths of deliveries may name.' })
  name!: string;

  @Field(() => String, { description: 'Where the database is.' })
  baseUrl!: string;

  @Field(() => SyntrixApiStyle, { description: 'Its routes.' })
  apiStyle!: `${SyntrixApiStyle}`;

  @Field(() => String, { description: 'The name of the database there.' })
  database!: string;

  @Field(() => SyntrixAuth, { description: 'Which token is sent to it.' })
  auth!: `${SyntrixAuth}`;

  @Field(() => String, {
    nullable: true,
    description: 'The secret of the workspace that signs its deliveries, by name.',
  })
  secret?: string | null;

  @Field(() => String, { nullable: true, description: 'The secret of the workspace that is its token, by name.' })
  token?: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The model that answers; without, the default of the workspace.',
  })
  model?: string | null;

  @Field(() => [String], { description: 'The tools that its chats may use, by name.' })
  tools!: readonly string[];

  @Field(() => String, { nullable: true, description: 'Comes first in each prompt.' })
  systemPrompt?: string | null;

  @Field(() => String, { description: 'The collection of tool calls in a chat.' })
  toolCollection!: string;

  @Field(() => Int, { description: 'After more tool calls than this, the model answers without tools.' })
  maxToolCalls!: number;

  @Field(() => SyntrixToolCallScope, { description: 'Which tool calls count.' })
  maxToolCallsScope!: `${SyntrixToolCallScope}`;

  @Field(() => Int, { nullable: true, description: 'How many deliveries start a job in a second; without, no limit.' })
  rateLimit?: number | null;

  @Field(() => String, { description: 'For whom its jobs run, the one who saved it last: `user:<id>` or `key:<id>`.' })
  savedBy!: string;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;

  @Field(() => DateTime, { description: 'When it was saved last.' })
  updatedAt!: number;
}

export const SyntrixConnectionConnection = connectionOf(SyntrixConnectionModel, 'SyntrixConnection');

@InputType({ description: 'A connection to be saved. What is absent has its default.' })
export class SaveSyntrixConnectionInput {
  @Field(() => String, {
    description: 'Its name: letters, digits, `_` and `-`, 128 at most. One with this name is replaced.',
  })
  name!: string;

  @Field(() => String, { nullable: true, description: 'Where the database is. Default: `http://localhost:8080`.' })
  baseUrl?: string;

  @Field(() => SyntrixApiStyle, { nullable: true, description: 'Its routes. Default: `V1`.' })
  apiStyle?: SyntrixApiStyle;

  @Field(() => String, { nullable: true, description: 'The name of the database there. Default: `default`.' })
  database?: string;

  @Field(() => SyntrixAuth, { nullable: true, description: 'Which token is sent to it. Default: `NONE`.' })
  auth?: SyntrixAuth;

  @Field(() => String, {
    nullable: true,
    description: 'The secret of the workspace that signs its deliveries, by name.',
  })
  secret?: string;

  @Field(() => String, { nullable: true, description: 'The secret of the workspace that is its token, by name.' })
  token?: string;

  @Field(() => String, { nullable: true, description: 'The model that answers. Default: that of the workspace.' })
  model?: string;

  @Field(() => [String], { nullable: true, description: 'The tools that its chats may use, by name. Default: none.' })
  tools?: readonly string[];

  @Field(() => String, { nullable: true, description: 'Comes first in each prompt, 20,000 characters at most.' })
  systemPrompt?: string;

  @Field(() => String, { nullable: true, description: 'The collection of tool calls in a chat. Default: `toolcall`.' })
  toolCollection?: string;

  @Field(() => Int, {
    nullable: true,
    description: 'After more tool calls than this, the model answers without tools. Default: 5.',
  })
  maxToolCalls?: number;

  @Field(() => SyntrixToolCallScope, { nullable: true, description: 'Which tool calls count. Default: `HISTORY`.' })
  maxToolCallsScope?: SyntrixToolCallScope;

  @Field(() => Int, { nullable: true, description: 'How many deliveries start a job in a second. Default: no limit.' })
  rateLimit?: number;
}

@InputType({ description: 'The connection to delete.' })
export class DeleteSyntrixConnectionInput {
  @Field(() => String, { description: 'Its name.' })
  name!: string;
}

@ObjectType({
  description: 'The connection after the change (before it, if deleted), or the reasons why nothing changed.',
})
export class SyntrixConnectionPayload {
  @Field(() => SyntrixConnectionModel, { nullable: true, description: 'The connection.' })
  syntrixConnection?: SyntrixConnectionModel | null;

  @Field(() => [UserError], { description: 'The reasons why nothing changed.' })
  userErrors!: UserError[];
}
