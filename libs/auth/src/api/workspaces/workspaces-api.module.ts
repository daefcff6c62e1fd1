import { Module } from '@nestjs/common';

import { InvitationsResolver } from './invitations.resolver.js';
import { MembersResolver } from './members.resolver.js';
import { WorkspacesResolver } from './workspaces.resolver.js';

/** Workspaces, members and invitations. Requires a global `AuthModule`. */
@Module({
  providers: [InvitationsResolver, MembersResolver, WorkspacesResolver],
})
export class WorkspacesApiModule {}
