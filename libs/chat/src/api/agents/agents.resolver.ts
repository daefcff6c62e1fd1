import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import {
  type ConnectionOf,
  ForwardPageArgs,
  orNull,
  pageCost,
  positionOfCursor,
  toForwardConnection,
  toForwardPage,
  toWantedPage,
} from '#platform/api';

import { agentNotFound } from '../../agents/agents.errors.js';
import { AgentsService } from '../../agents/agents.service.js';
import type { Agent, AgentVersion } from '../../input/agent.js';
import { AgentConnection, AgentModel, AgentVersionConnection } from './agent.model.js';

const kind = 'agents';
const versionKind = 'agentVersions';

/** Reads the agents of a workspace. */
@Resolver(() => AgentModel)
export class AgentsResolver {
  constructor(private readonly agentsOf: AgentsService) {}

  @RequireAbility('read', 'Agent')
  @Query(() => AgentConnection, {
    name: kind,
    description: 'The agents of the workspace by name, without archived ones.',
    complexity: pageCost,
  })
  async list(@Args() args: ForwardPageArgs, @Context() { member }: GraphqlContext): Promise<ConnectionOf<Agent>> {
    const page = await this.agentsOf.list(member, toForwardPage(args, kind));
    return toForwardConnection(page, args, { kind, idOf: ({ id }) => id });
  }

  @RequireAbility('read', 'Agent')
  @Query(() => AgentModel, { nullable: true, description: 'An agent. Null: not found.' })
  agent(
    @Args('id', { type: () => ID, description: 'Its id, slug or name.' }) id: string,
    @Context() { member }: GraphqlContext,
  ): Promise<Agent | null> {
    return orNull(this.agentsOf.find(member, id));
  }

  @RequireAbility('read', 'Agent', { absent: agentNotFound })
  @Query(() => AgentVersionConnection, {
    name: versionKind,
    description: 'The versions of an agent, newest first.',
    complexity: pageCost,
  })
  async versions(
    @Args('agentId', { type: () => ID, description: 'The agent: id, slug or name.' }) agentId: string,
    @Args() args: ForwardPageArgs,
    @Context() { member }: GraphqlContext,
  ): Promise<ConnectionOf<AgentVersion>> {
    const { limit: first, cursor } = toWantedPage(args);
    const below = cursor === undefined ? undefined : positionOfCursor(cursor, versionKind, 'after');
    const page = await this.agentsOf.versions(member, agentId, { first, below });
    return toForwardConnection(page, args, { kind: versionKind, idOf: ({ number }) => String(number) });
  }
}
