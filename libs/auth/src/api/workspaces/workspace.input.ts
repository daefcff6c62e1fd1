import { Field, Float, ID, InputType, Int } from '@nestjs/graphql';

import { DateTime, payloadOf } from '#platform/api';

import type { KeyScope, Role } from '../../principal.js';
import type { WorkspaceChanges } from '../../workspaces/workspace.js';
import { ToolIsolationEnum, WhenBusyEnum, WhenFullEnum } from './start-policy.enums.js';
import { ApiKeyModel, KeyScopeEnum, Member, MemberRoleEnum, WorkspaceModel } from './workspace.model.js';

@InputType({ description: 'The workspace to create.' })
export class CreateWorkspaceInput {
  @Field(() => String, { description: 'Its name, 1 to 200 characters.' })
  name!: string;
}

@InputType({ description: 'The changes. Absent fields do not change.' })
export class UpdateWorkspaceInput {
  @Field(() => String, { nullable: true, description: 'Its name, 1 to 200 characters.' })
  name?: string | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Maximum number of running jobs of one user. Queued and waiting jobs do not count.',
  })
  maxJobsPerUser?: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Maximum number of running jobs of the workspace. Queued and waiting jobs do not count.',
  })
  maxJobs?: number | null;

  @Field(() => WhenFullEnum, {
    nullable: true,
    description: 'What happens to a new job while the number of running jobs is at a cap.',
  })
  whenFull?: WorkspaceChanges['whenFull'] | null;

  @Field(() => WhenBusyEnum, { nullable: true, description: 'What a start does when its thread is busy.' })
  whenBusy?: WorkspaceChanges['whenBusy'] | null;

  @Field(() => Boolean, { nullable: true, description: 'Whether each chat must bring its own provider key.' })
  requireUserKey?: boolean | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Names or globs of models that OpenAI clients may request directly, besides the default one.',
  })
  directModels?: string[] | null;

  @Field(() => ToolIsolationEnum, {
    nullable: true,
    description: 'Where server tools run. A change takes effect within a second.',
  })
  toolIsolation?: WorkspaceChanges['toolIsolation'] | null;

  @Field(() => Float, {
    nullable: true,
    description: 'How long deltas of ended jobs are kept, in ms. Null: the default of the installation.',
  })
  deltaRetentionMs?: number | null;

  @Field(() => Float, {
    nullable: true,
    description: 'How long ended jobs are kept, in ms. Null: the default of the installation.',
  })
  jobRetentionMs?: number | null;
}

@InputType({ description: 'The person to invite, and the role offered.' })
export class AddMemberInput {
  @Field(() => String, {
    description: 'Their email address. To accept, they sign in with a token that carries it as a verified address.',
  })
  email!: string;

  @Field(() => MemberRoleEnum, { description: 'The role that accepting gives.' })
  role!: Role;
}

@InputType({ description: 'The member and the new role.' })
export class ChangeMemberRoleInput {
  @Field(() => ID, { description: 'The user.' })
  userId!: string;

  @Field(() => MemberRoleEnum, { description: 'The new role.' })
  role!: Role;
}

@InputType({ description: 'The member to remove.' })
export class RemoveMemberInput {
  @Field(() => ID, { description: 'The user. Their API keys of this workspace are revoked.' })
  userId!: string;
}

@InputType({ description: 'The workspace to leave.' })
export class LeaveWorkspaceInput {
  @Field(() => ID, { description: 'The workspace.' })
  workspaceId!: string;
}

@InputType({ description: 'A new API key that acts as you.' })
export class CreateApiKeyInput {
  @Field(() => String, { description: 'Its name, 1 to 200 characters.' })
  name!: string;

  @Field(() => [KeyScopeEnum], { description: 'What it may be used for. Never more than the caller may do.' })
  scopes!: KeyScope[];

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Absent: never.' })
  expiresAt?: number | null;
}

@InputType({ description: 'The key to revoke.' })
export class RevokeApiKeyInput {
  @Field(() => ID, { description: 'The key.' })
  id!: string;
}

export const WorkspacePayload = payloadOf({
  name: 'WorkspacePayload',
  description: 'The workspace after the change, or the reasons why nothing changed.',
  fields: { workspace: [WorkspaceModel, 'The workspace.'] },
});

export const CreateWorkspacePayload = payloadOf({
  name: 'CreateWorkspacePayload',
  description: 'The new workspace, or the reasons why none was created.',
  fields: {
    workspace: [WorkspaceModel, 'The workspace.'],
    apiKey: [
      ApiKeyModel,
      'The first API key of the new workspace, for a caller that used an API key: that key is not valid in the new workspace.',
    ],
    secret: [String, 'The whole first key, shown only now: store it safely.'],
  },
  errors: 'The reasons why no workspace was created.',
});

export const MemberPayload = payloadOf({
  name: 'MemberPayload',
  description: 'The member after the change (before it, if removed), or the reasons why nothing changed.',
  fields: { member: [Member, 'The member.'] },
});

export const CreateApiKeyPayload = payloadOf({
  name: 'CreateApiKeyPayload',
  description: 'The new key, or the reasons why none was created.',
  fields: {
    apiKey: [ApiKeyModel, 'The key, without its secret.'],
    secret: [String, 'The complete key. It is shown only once, so store it safely.'],
  },
  errors: 'The reasons why nothing was created.',
});

export const ApiKeyPayload = payloadOf({
  name: 'ApiKeyPayload',
  description: 'The key after the change, or the reasons why nothing changed.',
  fields: { apiKey: [ApiKeyModel, 'The key.'] },
});
