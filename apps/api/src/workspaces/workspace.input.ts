import { Field, Float, ID, InputType, Int, ObjectType } from '@nestjs/graphql';

import type { KeyScope, Role, WorkspaceChanges } from '#auth';

import { DateTime } from '../graphql/scalars/date-time.scalar.js';
import { UserError } from '../graphql/user-error.model.js';
import { WhenBusyEnum } from '../jobs/job.enums.js';
import { ApiKeyModel, KeyScopeEnum, Member, MemberRoleEnum, WorkspaceModel } from './workspace.model.js';

@InputType({ description: 'A workspace of one’s own.' })
export class CreateWorkspaceInput {
  @Field(() => String, { description: 'Its name, 1 to 200 characters.' })
  name!: string;
}

@InputType({ description: 'What changes; what is absent stays.' })
export class UpdateWorkspaceInput {
  @Field(() => String, { nullable: true, description: 'Its name, 1 to 200 characters.' })
  name?: string | null;

  @Field(() => Int, { nullable: true, description: 'Most jobs of one user that have not ended.' })
  maxJobsPerUser?: number | null;

  @Field(() => Int, { nullable: true, description: 'Most jobs of all that have not ended.' })
  maxJobs?: number | null;

  @Field(() => WhenBusyEnum, { nullable: true, description: 'What a start does when its thread is busy.' })
  whenBusy?: WorkspaceChanges['whenBusy'] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether each chat needs a provider key of its own.' })
  requireUserKey?: boolean | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Names or globs of models that OpenAI clients may ask for by themselves, besides the default one.',
  })
  directModels?: string[] | null;

  @Field(() => Float, {
    nullable: true,
    description: "How long deltas of ended jobs are kept, in ms; null: the server's default.",
  })
  deltaRetentionMs?: number | null;

  @Field(() => Float, {
    nullable: true,
    description: "How long ended jobs are kept, in ms; null: the server's default.",
  })
  jobRetentionMs?: number | null;
}

@InputType({ description: 'Who becomes a member, as what.' })
export class AddMemberInput {
  @Field(() => String, { description: 'Their address. Somebody who is not known yet joins when signing in with it.' })
  email!: string;

  @Field(() => MemberRoleEnum, { description: 'As what.' })
  role!: Role;
}

@InputType({ description: 'Which member gets which role.' })
export class ChangeMemberRoleInput {
  @Field(() => ID, { description: 'The user.' })
  userId!: string;

  @Field(() => MemberRoleEnum, { description: 'As what from now on.' })
  role!: Role;
}

@InputType({ description: 'Which member leaves.' })
export class RemoveMemberInput {
  @Field(() => ID, { description: 'The user. Their API keys of this workspace are revoked.' })
  userId!: string;
}

@InputType({ description: 'A new API key that acts as you.' })
export class CreateApiKeyInput {
  @Field(() => String, { description: 'Its name, 1 to 200 characters.' })
  name!: string;

  @Field(() => [KeyScopeEnum], { description: 'What it may be used for: no more than you may.' })
  scopes!: KeyScope[];

  @Field(() => DateTime, { nullable: true, description: 'When it ends; absent: when it is revoked.' })
  expiresAt?: number | null;
}

@InputType({ description: 'Which key ends.' })
export class RevokeApiKeyInput {
  @Field(() => ID, { description: 'The key.' })
  id!: string;
}

@ObjectType({ description: 'The workspace as it is now, or why nothing changed.' })
export class WorkspacePayload {
  @Field(() => WorkspaceModel, { nullable: true, description: 'The workspace.' })
  workspace?: WorkspaceModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The member as they are now (or were, when removed), or why nothing changed.' })
export class MemberPayload {
  @Field(() => Member, { nullable: true, description: 'The member.' })
  member?: Member | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The new key, or why there is none.' })
export class CreateApiKeyPayload {
  @Field(() => ApiKeyModel, { nullable: true, description: 'The key, without its secret.' })
  apiKey?: ApiKeyModel | null;

  @Field(() => String, { nullable: true, description: 'The whole key, shown this once: keep it safe.' })
  secret?: string | null;

  @Field(() => [UserError], { description: 'Why nothing was made.' })
  userErrors!: UserError[];
}

@ObjectType({ description: 'The key as it is now, or why nothing changed.' })
export class ApiKeyPayload {
  @Field(() => ApiKeyModel, { nullable: true, description: 'The key.' })
  apiKey?: ApiKeyModel | null;

  @Field(() => [UserError], { description: 'Why nothing changed.' })
  userErrors!: UserError[];
}
