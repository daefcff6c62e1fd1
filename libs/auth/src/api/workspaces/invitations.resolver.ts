import { Args, Context, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import {
  type ConnectionOf,
  ForwardPageArgs,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { ReceivedInvitation } from '../../identity.repository.js';
import type { Invitation } from '../../workspaces/invitations.repository.js';
import { InvitationsService } from '../../workspaces/invitations.service.js';
import type { Workspace } from '../../workspaces/workspace.js';
import type { GraphqlContext } from '../graphql-context.js';
import { RequireAbility, RequireAuthentication } from '../require-ability.js';
import {
  AcceptInvitationPayload,
  DeclineInvitationPayload,
  InvitationConnection,
  InvitationInput,
  InvitationPayload,
  ReceivedInvitationConnection,
} from './invitation.model.js';
import { AddMemberInput } from './workspace.input.js';
import { WorkspaceModel } from './workspace.model.js';

/** Invitations, for the members who create them and for the people who receive them. */
@Resolver(() => WorkspaceModel)
export class InvitationsResolver {
  constructor(private readonly invitations: InvitationsService) {}

  @ResolveField(() => InvitationConnection, {
    name: 'invitations',
    description: 'Its open and expired invitations, oldest first.',
    complexity: pageCost,
  })
  async invitationList(
    @Parent() _: Workspace,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<Invitation>> {
    const page = await this.invitations.list(member, toForwardPage(args, 'invitations'));
    return toForwardConnection(page, args, { kind: 'invitations', idOf: ({ id }) => id });
  }

  @RequireAuthentication()
  @Query(() => ReceivedInvitationConnection, {
    description:
      'The invitations that the caller may accept, newest first. They are found by the verified address of the token; an API key has none. A current workspace is not required.',
    complexity: pageCost,
  })
  async receivedInvitations(
    @Args() args: ForwardPageArgs,
    @Context() { identity }: GraphqlContext,
  ): Promise<ConnectionOf<ReceivedInvitation>> {
    const page = await this.invitations.received(identity, toForwardPage(args, 'receivedInvitations'));
    return toForwardConnection(page, args, { kind: 'receivedInvitations', idOf: ({ id }) => id });
  }

  @RequireAbility('create', 'Invitation')
  @Mutation(() => InvitationPayload, {
    description:
      'Invites a person by address. They become a member when they accept; a second invitation of an address replaces the first. An API key may offer the roles MEMBER and VIEWER only.',
  })
  addMember(
    @Args('input', { type: () => AddMemberInput, description: 'The address and the role.' })
    { email, role }: AddMemberInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ invitation: await this.invitations.invite(member, { email, role }) }));
  }

  @RequireAbility('delete', 'Invitation')
  @Mutation(() => InvitationPayload, { description: 'Revokes an invitation. It can no longer be accepted.' })
  revokeInvitation(
    @Args('input', { type: () => InvitationInput, description: 'The invitation to act on.' }) { id }: InvitationInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ invitation: await this.invitations.revoke(member, id) }));
  }

  @RequireAuthentication()
  @Mutation(() => AcceptInvitationPayload, {
    description:
      'Makes the caller a member. Requires a user token with the invited address, verified by its issuer. A current workspace is not required.',
  })
  acceptInvitation(
    @Args('input', { type: () => InvitationInput, description: 'The invitation to act on.' }) { id }: InvitationInput,
    @Context() { identity }: GraphqlContext,
  ) {
    return toPayload(() => this.invitations.accept(identity, id));
  }

  @RequireAuthentication()
  @Mutation(() => DeclineInvitationPayload, {
    description: 'Declines a received invitation. Requires a token with a verified address, as accepting does.',
  })
  declineInvitation(
    @Args('input', { type: () => InvitationInput, description: 'The invitation to act on.' }) { id }: InvitationInput,
    @Context() { identity }: GraphqlContext,
  ) {
    return toPayload(() => this.invitations.decline(identity, id));
  }
}
