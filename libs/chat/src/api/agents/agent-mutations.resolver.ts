import { Args, Context, Mutation, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { toPayload } from '#platform/api';

import type { AgentChanges, NewAgent } from '../../agents/agent-input.js';
import { AgentsService } from '../../agents/agents.service.js';
import { AgentRefInput, CreateAgentInput, RestoreAgentVersionInput, UpdateAgentInput } from './agent.input.js';
import { AgentPayload } from './agent.model.js';

/** Null empties these members. For all other members, null counts as absent. */
const nullable = new Set(['model', 'maxRunningJobs', 'toolApproval', 'toolEventFormat']);
const beside = new Set(['id', 'expectedVersion']);

/** Converts the input of a new agent. The service validates every member. */
function toNewAgent({ name, ...fields }: Omit<CreateAgentInput, 'upsert'>): NewAgent {
  return { name, ...given(fields) };
}

/** Converts the changed settings. The agent's id and the expected version are separate arguments. */
function toAgentChanges(input: UpdateAgentInput): AgentChanges {
  return given(input);
}

function given(fields: object): AgentChanges {
  const entries = Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    if (beside.has(name) || value === undefined || (value === null && !nullable.has(name))) return [];
    return [[name, name === 'limits' ? without(value) : value]];
  });
  return Object.fromEntries(entries) as AgentChanges; // the service validates every member
}

/** Removes members that are null. */
function without(limits: unknown): object {
  return Object.fromEntries(Object.entries(Object(limits) as object).filter(([, value]) => value != null));
}

/** Changes the agents of a workspace, for members with the right to manage them. */
@Resolver()
export class AgentMutationsResolver {
  constructor(private readonly agents: AgentsService) {}

  @RequireAbility('manage', 'Agent')
  @Mutation(() => AgentPayload, {
    description:
      'Creates an agent; the first of a workspace is its default. All agent mutations require the role admin.',
  })
  createAgent(
    @Args('input', { type: () => CreateAgentInput, description: 'The agent.' })
    { upsert, ...input }: CreateAgentInput,
    @Context() { member }: GraphqlContext,
  ) {
    const agent = toNewAgent(input);
    return toPayload(async () => ({
      agent: await (upsert ? this.agents.upsert(member, agent) : this.agents.create(member, agent)),
    }));
  }

  @RequireAbility('manage', 'Agent')
  @Mutation(() => AgentPayload, {
    description: 'Updates an agent as a new version. Jobs keep the version that they were accepted with.',
  })
  updateAgent(
    @Args('input', { type: () => UpdateAgentInput, description: 'The changes.' }) input: UpdateAgentInput,
    @Context() { member }: GraphqlContext,
  ) {
    const { id: ref, expectedVersion = null } = input;
    const change = { ref, changes: toAgentChanges(input), expectedVersion };
    return toPayload(async () => ({ agent: await this.agents.update(member, change) }));
  }

  @RequireAbility('manage', 'Agent')
  @Mutation(() => AgentPayload, { description: 'Restores the settings of an earlier agent version, as a new version.' })
  restoreAgentVersion(
    @Args('input', { type: () => RestoreAgentVersionInput, description: 'The version.' })
    { id, version }: RestoreAgentVersionInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.restore(member, id, version) }));
  }

  @RequireAbility('manage', 'Agent')
  @Mutation(() => AgentPayload, {
    description:
      'Archives an agent and frees its name. Jobs that use it continue. The default agent can only be archived last.',
  })
  archiveAgent(
    @Args('input', { type: () => AgentRefInput, description: 'The agent to act on.' }) { id }: AgentRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.archive(member, id) }));
  }

  @RequireAbility('manage', 'Agent')
  @Mutation(() => AgentPayload, {
    description: 'Makes an agent the default, which is used when `auto` finds no fitting agent.',
  })
  setDefaultAgent(
    @Args('input', { type: () => AgentRefInput, description: 'The agent to act on.' }) { id }: AgentRefInput,
    @Context() { member }: GraphqlContext,
  ) {
    return toPayload(async () => ({ agent: await this.agents.setDefault(member, id) }));
  }
}
