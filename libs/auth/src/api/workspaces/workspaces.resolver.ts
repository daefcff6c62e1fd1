import { Args, Context, Mutation, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';

import {
  type ConnectionOf,
  ForwardPageArgs,
  orNull,
  pageCost,
  toForwardConnection,
  toForwardPage,
  toPayload,
} from '#platform/api';

import type { ApiKey } from '../../api-keys/api-keys.repository.js';
import { ApiKeysService } from '../../api-keys/api-keys.service.js';
import { MembersService } from '../../workspaces/members.service.js';
import type { Member as MemberRow } from '../../workspaces/memberships.repository.js';
import type { Workspace, WorkspaceChanges } from '../../workspaces/workspace.js';
import { WorkspacesService } from '../../workspaces/workspaces.service.js';
import type { GraphqlContext } from '../graphql-context.js';
import { RequireAbility, RequireAuthentication } from '../require-ability.js';
import {
  CreateWorkspaceInput,
  CreateWorkspacePayload,
  UpdateWorkspaceInput,
  WorkspacePayload,
} from './workspace.input.js';
import { ApiKeyConnection, Me, MemberConnection, WorkspaceModel } from './workspace.model.js';

const nullable = new Set(['deltaRetentionMs', 'jobRetentionMs']);

/** The members that were given. Null means "the server's default" for settings that have one; for others it counts as absent. */
function toWorkspaceChanges(input: UpdateWorkspaceInput): WorkspaceChanges {
  const given = Object.entries(input).filter(
    ([name, value]) => value !== undefined && (value !== null || nullable.has(name)),
  );
  return Object.fromEntries(given); // the service parses every member again
}

/** The caller, and the workspace that they have entered. */
@Resolver(() => WorkspaceModel)
export class WorkspacesResolver {
  constructor(
    private readonly workspaces: WorkspacesService,
    private readonly members: MembersService,
    private readonly keys: ApiKeysService,
  ) {}

  @RequireAuthentication()
  @Query(() => Me, { description: 'The caller. A current workspace is not required.' })
  async me(@Context() { identity }: GraphqlContext): Promise<Me> {
    const { id, user, memberships } = await this.workspaces.me(identity);
    const { workspaceId, scopes } = identity;
    const entered = memberships.find((membership) => membership.workspaceId === workspaceId);
    const role = entered?.role ?? null;
    return { id, user, memberships: [...memberships], workspaceId, role, scopes: [...scopes] };
  }

  @RequireAbility('read', 'Workspace')
  @Query(() => WorkspaceModel, {
    nullable: true,
    description: 'The workspace of this request. Null unless the caller is an admin.',
  })
  workspace(@Context() { member }: GraphqlContext): Promise<Workspace | null> {
    return orNull(this.workspaces.get(member));
  }

  @ResolveField(() => MemberConnection, { name: 'members', description: 'Its members, by id.', complexity: pageCost })
  async memberList(
    @Parent() _: Workspace,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<MemberRow>> {
    const page = await this.members.list(member, toForwardPage(args, 'members'));
    return toForwardConnection(page, args, { kind: 'members', idOf: ({ userId }) => userId });
  }

  @ResolveField(() => ApiKeyConnection, {
    description: 'Its API keys that the caller may see, oldest first.',
    complexity: pageCost,
  })
  async apiKeys(
    @Parent() _: Workspace,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<ApiKey>> {
    const page = await this.keys.list(member, toForwardPage(args, 'apiKeys'));
    return toForwardConnection(page, args, { kind: 'apiKeys', idOf: ({ id }) => id });
  }

  @RequireAuthentication()
  @Mutation(() => CreateWorkspacePayload, {
    description:
      'Creates a workspace with the caller as its owner. A current workspace is not required. A caller with an API key also gets the first key of the new workspace.',
  })
  createWorkspace(
    @Args('input', { type: () => CreateWorkspaceInput, description: 'The workspace.' }) { name }: CreateWorkspaceInput,
    @Context() { identity }: GraphqlContext,
  ) {
    return toPayload(async () => {
      const { workspace, firstKey } = await this.workspaces.createWithKey(identity, { name });
      return { workspace, apiKey: firstKey?.key ?? null, secret: firstKey?.text ?? null };
    });
  }

  @RequireAbility('change', 'Workspace')
  @Mutation(() => WorkspacePayload, { description: 'Updates the workspace of this request.' })
  updateWorkspace(
    @Args('input', { type: () => UpdateWorkspaceInput, description: 'The changes.' }) input: UpdateWorkspaceInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ workspace: await this.workspaces.update(member, toWorkspaceChanges(input)) }));
  }
}
