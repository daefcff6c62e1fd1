import { Args, Context, ID, Query, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import type { Interrupt } from '#jobs';
import { isId } from '#platform';
import { type ConnectionOf, idOfCursor, pageCost, toConnection, toCursor, toWantedPage } from '#platform/api';

import { InterruptsService } from '../../interrupts/interrupts.service.js';
import { InterruptConnection, InterruptModel } from './interrupt.model.js';
import { InterruptLoaders } from './interrupt-loaders.js';
import { InterruptsArgs } from './interrupts.args.js';
import { toInterruptQuery } from './to-interrupt-query.js';

/** Queries the inbox. */
@Resolver(() => InterruptModel)
export class InterruptsResolver {
  constructor(
    private readonly interrupts: InterruptsService,
    private readonly loaders: InterruptLoaders,
  ) {}

  @RequireAbility('read', 'Interrupt')
  @Query(() => InterruptModel, { nullable: true, description: 'A request. Null: not found.' })
  interrupt(
    @Args('id', { type: () => ID, description: 'The id of the request.' }) id: string,
    @Context() context: GraphqlContext,
  ): Promise<Interrupt | null> | null {
    return isId(id) ? this.loaders.of(context).interrupts.load(id) : null;
  }

  @RequireAbility('read', 'Interrupt')
  @Query(() => InterruptConnection, {
    name: 'interrupts',
    description: 'The inbox: requests that the caller may see, newest first.',
    complexity: pageCost,
  })
  async list(@Args() args: InterruptsArgs, @Context() { member }: GraphqlContext): Promise<ConnectionOf<Interrupt>> {
    const page = toWantedPage(args);
    const query = toInterruptQuery(args.filter);
    const after = page.cursor === undefined ? {} : { after: idOfCursor(page.cursor, 'interrupts', page.field) };
    const rows = await this.interrupts.list(member, query, { limit: page.limit, reverse: page.reverse, ...after });
    const count = () => this.interrupts.count(member, query);
    return toConnection(rows, { page, count, cursorOf: ({ id }) => toCursor('interrupts', id) });
  }
}
