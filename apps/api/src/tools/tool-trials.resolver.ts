import { Args, Context, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { HttpToolTrials, OutboundHosts } from '#tools';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload } from '../graphql/user-error.model.js';
import { WorkspaceModel } from '../workspaces/workspace.model.js';
import { toTriedTool } from './to-tried-tool.js';
import { OutboundHostsPayload, SetOutboundHostsInput, TestToolInput, TestToolPayload } from './workspace-tool.model.js';

/** What goes out on behalf of a workspace: where to, and once to see how it goes. */
@Resolver(() => WorkspaceModel)
export class ToolTrialsResolver {
  constructor(
    private readonly trials: HttpToolTrials,
    private readonly hosts: OutboundHosts,
  ) {}

  @ResolveField(() => [String], {
    description: 'The hosts that its tools may reach. Empty: any public host.',
  })
  outboundHosts(_: unknown, __: unknown, { member }: GraphqlContext): Promise<readonly string[]> {
    return this.hosts.get(member);
  }

  @Mutation(() => OutboundHostsPayload, { description: 'Sets the hosts that the tools of the workspace may reach.' })
  setOutboundHosts(
    @Args('input', { type: () => SetOutboundHostsInput, description: 'The hosts.' }) { hosts }: SetOutboundHostsInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ hosts: await this.hosts.set(member, hosts) }));
  }

  @Mutation(() => TestToolPayload, {
    description: 'Calls an HTTP tool once and returns the result. It is a real call with real effects.',
  })
  testTool(
    @Args('input', { type: () => TestToolInput, description: 'The tool and its arguments.' }) input: TestToolInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ trial: await this.trials.run(member, toTriedTool(input), input.arguments) }));
  }
}
