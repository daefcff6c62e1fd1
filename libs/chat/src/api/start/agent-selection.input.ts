import { Field, ID, InputType } from '@nestjs/graphql';

import { AppError } from '#platform';

import type { AgentSelection } from '../../input/agent.js';

@InputType({ description: 'The agent to use: a given one, or the best fit. Set exactly one of the two fields.' })
export class AgentSelectionInput {
  @Field(() => ID, { nullable: true, description: 'An agent: id, slug or name.' })
  id?: string | null;

  @Field(() => Boolean, { nullable: true, description: 'True: a model chooses the agent by the descriptions.' })
  auto?: boolean | null;
}

/** Converts the selection. Throws `bad_request` unless exactly one of the fields is set. */
export function toAgentSelection(selection: AgentSelectionInput | null | undefined): {
  readonly agent?: AgentSelection;
} {
  if (selection == null) return {};
  const { id, auto } = selection;
  if ((id == null) !== (auto === true))
    throw new AppError({ code: 'bad_request', message: 'Set either id or auto: true', field: 'agent' });
  return { agent: id == null ? { type: 'auto' } : { type: 'agent', ref: id } };
}
