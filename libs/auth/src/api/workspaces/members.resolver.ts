import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { toPayload } from '#platform/api';

import { ApiKeysService } from '../../api-keys/api-keys.service.js';
import { MembersService } from '../../workspaces/members.service.js';
import type { GraphqlContext } from '../graphql-context.js';
import { RequireAbility, RequireAuthentication } from '../require-ability.js';
import {
  ApiKeyPayload,
  ChangeMemberRoleInput,
  CreateApiKeyInput,
  CreateApiKeyPayload,
  LeaveWorkspaceInput,
  MemberPayload,
  RemoveMemberInput,
  RevokeApiKeyInput,
} from './workspace.input.js';

/** Changes the members of the workspace, and their API keys. */
@Resolver()
export class MembersResolver {
  constructor(
    private readonly members: MembersService,
    private readonly keys: ApiKeysService,
  ) {}

  @RequireAbility('manage', 'Membership')
  @Mutation(() => MemberPayload, {
    description:
      'Changes the role of a member. A workspace keeps at least one owner. Needs a token: an API key changes no roles.',
  })
  changeMemberRole(
    @Args('input', { type: () => ChangeMemberRoleInput, description: 'The member and the role.' })
    { userId, role }: ChangeMemberRoleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.changeRole(member, { userId, role }) }));
  }

  @RequireAbility('delete', 'Membership')
  @Mutation(() => MemberPayload, {
    description:
      'Removes a member, revokes their keys, and closes their streams within 2 s. An API key may remove members with the roles MEMBER and VIEWER only.',
  })
  removeMember(
    @Args('input', { type: () => RemoveMemberInput, description: 'The member.' }) { userId }: RemoveMemberInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.remove(member, userId) }));
  }

  @RequireAuthentication()
  @Mutation(() => MemberPayload, {
    description:
      'The caller leaves a workspace; their keys of it are revoked. The only owner cannot leave. Requires a user token, not an API key. A current workspace is not required.',
  })
  leaveWorkspace(
    @Args('input', { type: () => LeaveWorkspaceInput, description: 'The workspace.' })
    { workspaceId }: LeaveWorkspaceInput,
    @Context() { identity }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.leave(identity, workspaceId) }));
  }

  @RequireAbility('create', 'ApiKey')
  @Mutation(() => CreateApiKeyPayload, { description: 'Creates an API key that acts as the caller in this workspace.' })
  createApiKey(
    @Args('input', { type: () => CreateApiKeyInput, description: 'The key.' })
    { name, scopes, expiresAt }: CreateApiKeyInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => {
      const { key, text } = await this.keys.create(member, { name, scopes, expiresAt });
      return { apiKey: key, secret: text };
    });
  }

  @RequireAbility('delete', 'ApiKey')
  @Mutation(() => ApiKeyPayload, {
    description:
      'Revokes an API key and the keys made with it, everywhere within a second. Idempotent. An API key revokes keys of its own user only.',
  })
  revokeApiKey(
    @Args('input', { type: () => RevokeApiKeyInput, description: 'The key.' }) { id }: RevokeApiKeyInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ apiKey: await this.keys.revoke(member, id) }));
  }
}
