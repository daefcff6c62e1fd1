import { Module } from '@nestjs/common';

import { ApprovalsModule } from '../../approvals.module.js';
import { ApprovalGrantsResolver } from './approval-grants.resolver.js';
import { ApprovalPolicyResolver } from './approval-policy.resolver.js';

/** The GraphQL API of approval policies and grants. */
@Module({
  imports: [ApprovalsModule],
  providers: [ApprovalGrantsResolver, ApprovalPolicyResolver],
})
export class ApprovalsApiModule {}
