import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { ApiKeysService, MembersService } from '#auth';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload } from '../graphql/user-error.model.js';
import {
  AddMemberInput,
  ApiKeyPayload,
  ChangeMemberRoleInput,
  CreateApiKeyInput,
  CreateApiKeyPayload,
  MemberPayload,
  RemoveMemberInput,
  RevokeApiKeyInput,
} from './workspace.input.js';

/** Changes who is in the workspace, and what acts for them. */
@Resolver()
export class MembersResolver {
  constructor(
    private readonly members: MembersService,
    private readonly keys: ApiKeysService,
  ) {}

  @Mutation(() => MemberPayload, { description: 'Adds a member to the workspace.' })
  addMember(
    @Args('input', { type: () => AddMemberInput, description: 'The person and their role.' })
    { email, role }: AddMemberInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.add(member, { email, role }) }));
  }

  @Mutation(() => MemberPayload, { description: 'Changes the role of a member. A workspace keeps at least one owner.' })
  changeMemberRole(
    @Args('input', { type: () => ChangeMemberRoleInput, description: 'The person and their role.' })
    { userId, role }: ChangeMemberRoleInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.changeRole(member, { userId, role }) }));
  }

  @Mutation(() => MemberPayload, {
    description: 'Removes a member, revokes their keys, and closes their streams within 2 s.',
  })
  removeMember(
    @Args('input', { type: () => RemoveMemberInput, description: 'The member.' }) { userId }: RemoveMemberInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ member: await this.members.remove(member, userId) }));
  }

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

  @Mutation(() => ApiKeyPayload, { description: 'Revokes an API key, everywhere within a second. Idempotent.' })
  revokeApiKey(
    @Args('input', { type: () => RevokeApiKeyInput, description: 'The key.' }) { id }: RevokeApiKeyInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ apiKey: await this.keys.revoke(member, id) }));
  }
}
