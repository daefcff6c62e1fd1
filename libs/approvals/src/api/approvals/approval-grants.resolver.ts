import { Args, Context, Mutation, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility, RequireAuthentication } from '#auth/api';
import { type ConnectionOf, pageCost, toForwardConnection, toForwardPage, toPayload } from '#platform/api';

import type { ApprovalGrant } from '../../grants/approval-grants.repository.js';
import { ApprovalGrantsService } from '../../grants/approval-grants.service.js';
import {
  ApprovalGrantConnection,
  ApprovalGrantModel,
  ApprovalGrantPayload,
  ApprovalGrantsArgs,
  RevokeApprovalGrantInput,
} from './approval-grant.model.js';

const kind = 'approvalGrants';

/** Lists and revokes timed grants. */
@Resolver(() => ApprovalGrantModel)
export class ApprovalGrantsResolver {
  constructor(private readonly grants: ApprovalGrantsService) {}

  @RequireAbility('read', 'ToolCall')
  @Query(() => ApprovalGrantConnection, {
    description:
      'Grants, newest first: those that the caller gave or received. For approvers: all grants of the workspace.',
    complexity: pageCost,
  })
  async approvalGrants(
    @Args() args: ApprovalGrantsArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<ApprovalGrant>> {
    const filter = { threadId: args.filter?.threadId ?? null, isActive: args.filter?.isActive === true };
    const page = await this.grants.list(member, filter, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  // A requester whose role has become viewer may still revoke the grants that they received.
  @RequireAuthentication()
  @Mutation(() => ApprovalGrantPayload, {
    description:
      'Revokes a grant at once. The principal who gave the grant, its requester and approvers may revoke it. Idempotent.',
  })
  revokeApprovalGrant(
    @Args('input', { type: () => RevokeApprovalGrantInput, description: 'The grant.' })
    { id }: RevokeApprovalGrantInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ approvalGrant: await this.grants.revoke(member, id) }));
  }
}
