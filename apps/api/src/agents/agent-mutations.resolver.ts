import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { AgentsService } from '#chat';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import { toPayload } from '../graphql/user-error.model.js';
import { AgentRefInput, CreateAgentInput, RestoreAgentVersionInput, UpdateAgentInput } from './agent.input.js';
import { AgentPayload } from './agent.model.js';
import { toAgentChanges, toNewAgent } from './to-agent-input.js';

/** Changes the agents of a workspace, for those who run it. */
@Resolver()
export class AgentMutationsResolver {
  constructor(private readonly agents: AgentsService) {}

  @Mutation(() => AgentPayload, {
    description:
      'Makes an agent; the first of a workspace is its default. For those who run the workspace, as all of these.',
  })
  createAgent(
    @Args('input', { type: () => CreateAgentInput, description: 'The agent.' }) input: CreateAgentInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.create(member, toNewAgent(input)) }));
  }

  @Mutation(() => AgentPayload, {
    description: 'Changes an agent. What it is made of gets a new version; jobs keep the one they were accepted with.',
  })
  updateAgent(
    @Args('input', { type: () => UpdateAgentInput, description: 'What changes.' }) input: UpdateAgentInput,
    @Context() { member }: GraphqlContext,
  ) {
    const { id: ref, expectedVersion = null } = input;
    const change = { ref, changes: toAgentChanges(input), expectedVersion };
    return toPayload(async () => ({ agent: await this.agents.update(member, change) }));
  }

  @Mutation(() => AgentPayload, { description: 'Makes an agent what it was in a version, as a new version.' })
  restoreAgentVersion(
    @Args('input', { type: () => RestoreAgentVersionInput, description: 'Which version.' })
    { id, version }: RestoreAgentVersionInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.restore(member, id, version) }));
  }

  @Mutation(() => AgentPayload, {
    description:
      'Archives an agent: nobody finds it and its name is free. Jobs that use it go on. The default goes last.',
  })
  archiveAgent(
    @Args('input', { type: () => AgentRefInput, description: 'Which agent.' }) { id }: AgentRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.archive(member, id) }));
  }

  @Mutation(() => AgentPayload, { description: 'Makes an agent the one that takes what `auto` can give to nobody.' })
  setDefaultAgent(
    @Args('input', { type: () => AgentRefInput, description: 'Which agent.' }) { id }: AgentRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.setDefault(member, id) }));
  }
}
