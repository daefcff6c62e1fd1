import { Args, Context, Mutation, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import type { Interrupt } from '#jobs';
import { requestNotFound } from '#jobs';
import { isId } from '#platform';
import { toPayload, type UserError } from '#platform/api';

import { InterruptsService } from '../../interrupts/interrupts.service.js';
import { InterruptModel } from './interrupt.model.js';
import { InterruptLoaders } from './interrupt-loaders.js';
import { ResolveInterruptInput, ResolveInterruptPayload } from './resolve-interrupt.input.js';

/** The result of a decision, before the current request is loaded. */
interface Resolved {
  readonly id: string;
  readonly settled?: Interrupt;
  readonly userErrors: readonly UserError[];
}

/** Receives decisions about requests. */
@Resolver(() => ResolveInterruptPayload)
export class InterruptMutationsResolver {
  constructor(
    private readonly interrupts: InterruptsService,
    private readonly loaders: InterruptLoaders,
  ) {}

  // A reader who may not decide gets the request next to the error, so the handler checks the right to decide.
  @RequireAbility('read', 'Interrupt', { absent: requestNotFound })
  @Mutation(() => ResolveInterruptPayload, {
    description:
      'Decides one interrupt by its id. The first decision counts; the same decision again returns the same outcome.',
  })
  async resolveInterrupt(
    @Args('input', { type: () => ResolveInterruptInput, description: 'The decision.' }) input: ResolveInterruptInput,
    @Context() { member }: GraphqlContext,
  ): Promise<Resolved> {
    const { id, ...answer } = input;
    const payload = await toPayload(async () => ({ settled: await this.interrupts.decide(member, id, answer) }));
    return { id, ...payload };
  }

  @ResolveField(() => InterruptModel, {
    nullable: true,
    description: 'The request in its current state; after a conflict it has the first decision. Null: not found.',
  })
  interrupt({ id, settled }: Resolved, _: unknown, context: GraphqlContext) {
    return settled ?? (isId(id) ? this.loaders.of(context).interrupts.load(id) : null);
  }
}
