import { Args, Context, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility, WorkspaceModel } from '#auth/api';
import { toPayload } from '#platform/api';

import { OutboundHosts } from '../../http/outbound-hosts.service.js';
import { OutboundHostsPayload, SetOutboundHostsInput } from './workspace-tool.model.js';

/** The hosts that the tools of a workspace may reach. */
@Resolver(() => WorkspaceModel)
export class OutboundHostsResolver {
  constructor(private readonly hosts: OutboundHosts) {}

  @ResolveField(() => [String], {
    description: 'The hosts that its tools may reach. Empty: any public host.',
  })
  outboundHosts(_: unknown, __: unknown, { member }: GraphqlContext): Promise<readonly string[]> {
    return this.hosts.get(member);
  }

  @RequireAbility('manage', 'WorkspaceTool')
  @Mutation(() => OutboundHostsPayload, { description: 'Sets the hosts that the tools of the workspace may reach.' })
  setOutboundHosts(
    @Args('input', { type: () => SetOutboundHostsInput, description: 'The hosts.' }) { hosts }: SetOutboundHostsInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ hosts: await this.hosts.set(member, hosts) }));
  }
}
