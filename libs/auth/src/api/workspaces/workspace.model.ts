import { Field, Float, ID, Int, ObjectType } from '@nestjs/graphql';

import { connectionOf, DateTime, defineEnum } from '#platform/api';

import type { KeyScope, Role } from '../../principal.js';
import { ToolIsolationEnum, WhenBusyEnum, WhenFullEnum } from './start-policy.enums.js';

/** GraphQL names of member roles. */
export const MemberRoleEnum = defineEnum('MemberRole', 'What a member may do in a workspace.', {
  OWNER: ['owner', 'Everything.'],
  ADMIN: ['admin', 'Administers the workspace, but cannot change owners.'],
  MEMBER: ['member', 'Starts jobs and changes their own.'],
  VIEWER: ['viewer', 'Reads.'],
}) satisfies Record<Uppercase<Role>, Role>;

/** GraphQL names of key scopes. */
export const KeyScopeEnum = defineEnum(
  'KeyScope',
  'What an API key may be used for. A scope only narrows the role of the user; no scope implies another.',
  {
    READ: ['read', 'Reading.'],
    WRITE: ['write', 'Starting and changing jobs, threads and workflow drafts.'],
    ADMIN: ['admin', 'Administration of the workspace.'],
    APPROVE: ['approve', 'Deciding requests.'],
  },
) satisfies Record<Uppercase<KeyScope>, KeyScope>;

@ObjectType({ description: 'A person.' })
export class User {
  @Field(() => ID, { description: 'Their id.' })
  id!: string;

  @Field(() => String, { description: 'Their address.' })
  email!: string;

  @Field(() => String, { description: 'Their name; may be empty.' })
  name!: string;
}

@ObjectType({ description: 'A workspace that the caller is a member of.' })
export class MyMembership {
  @Field(() => ID, { description: 'The workspace.' })
  workspaceId!: string;

  @Field(() => String, { description: 'The name of the workspace.' })
  workspaceName!: string;

  @Field(() => MemberRoleEnum, { description: 'Their role.' })
  role!: string;
}

@ObjectType({ description: 'The caller.' })
export class Me {
  @Field(() => ID, { description: '`user:<id>` or `key:<id>`.' })
  id!: string;

  @Field(() => User, { description: 'The user. For an API key: the user that it acts as.' })
  user!: User;

  @Field(() => [MyMembership], { description: "The caller's memberships. An API key sees only its own workspace." })
  memberships!: MyMembership[];

  @Field(() => ID, { nullable: true, description: 'The workspace of this request.' })
  workspaceId!: string | null;

  @Field(() => MemberRoleEnum, { nullable: true, description: 'The role of the caller in that workspace.' })
  role!: string | null;

  @Field(() => [KeyScopeEnum], { description: 'The scopes of the credential. A token has all scopes.' })
  scopes!: string[];
}

@ObjectType('Workspace', { description: 'A tenant and its settings.' })
export class WorkspaceModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => Int, {
    description: 'Maximum number of running jobs of one user. Queued and waiting jobs do not count.',
  })
  maxJobsPerUser!: number;

  @Field(() => Int, {
    description: 'Maximum number of running jobs of the workspace. Queued and waiting jobs do not count.',
  })
  maxJobs!: number;

  @Field(() => WhenFullEnum, { description: 'What happens to a new job while the number of running jobs is at a cap.' })
  whenFull!: string;

  @Field(() => WhenBusyEnum, { description: 'What a start does when its thread is busy.' })
  whenBusy!: string;

  @Field(() => Boolean, { description: 'Whether each chat must bring its own provider key.' })
  requireUserKey!: boolean;

  @Field(() => [String], {
    description: 'Names or globs of models that OpenAI clients may request directly, besides the default one.',
  })
  directModels!: readonly string[];

  @Field(() => ToolIsolationEnum, {
    description: 'Where the server tools of the workspace run, if the installation does not require a stricter mode.',
  })
  toolIsolation!: string;

  @Field(() => Float, {
    nullable: true,
    description: 'How long deltas of ended jobs are kept, in ms. Null: the default of the installation.',
  })
  deltaRetentionMs!: number | null;

  @Field(() => Float, {
    nullable: true,
    description: 'How long ended jobs are kept, in ms. Null: the default of the installation.',
  })
  jobRetentionMs!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;
}

@ObjectType({ description: 'A user as a member of the workspace.' })
export class Member {
  @Field(() => ID, { description: 'The user.' })
  userId!: string;

  @Field(() => String, { description: 'Their address.' })
  email!: string;

  @Field(() => String, { description: 'Their name; may be empty.' })
  name!: string;

  @Field(() => MemberRoleEnum, { description: 'Their role.' })
  role!: string;

  @Field(() => DateTime, { description: 'When the membership began.' })
  createdAt!: number;
}

@ObjectType('ApiKey', { description: 'An API key, without its secret.' })
export class ApiKeyModel {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The user it acts as.' })
  userId!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its public part. The key starts with `nsk_<prefix>_`.' })
  prefix!: string;

  @Field(() => [KeyScopeEnum], { description: 'What it may be used for.' })
  scopes!: string[];

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Null: never; it ends when it is revoked.' })
  expiresAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was last used, accurate to about a minute.' })
  lastUsedAt!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was revoked.' })
  revokedAt!: number | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: number;
}

/** A page of members. */
export const MemberConnection = connectionOf(Member, 'Member');
/** A page of API keys. */
export const ApiKeyConnection = connectionOf(ApiKeyModel, 'ApiKey');
