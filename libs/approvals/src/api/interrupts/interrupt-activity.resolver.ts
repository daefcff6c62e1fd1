import { Args, Context, Resolver, Subscription } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility, Viewers } from '#auth/api';
import type { Interrupt } from '#jobs';
import { DeliveredIds } from '#platform/api';

import { type InterruptQuery, InterruptsService } from '../../interrupts/interrupts.service.js';
import { InterruptModel } from './interrupt.model.js';
import { InterruptActivity } from './interrupt-activity.js';
import { InterruptActivityArgs } from './interrupts.args.js';
import { toInterruptQuery } from './to-interrupt-query.js';

type Batches = AsyncGenerator<readonly Interrupt[], void, undefined>;

const pageSize = 100;
const maxAtFirst = 1_000;

/** Streams changes of the inbox. */
@Resolver()
export class InterruptActivityResolver {
  constructor(
    private readonly interrupts: InterruptsService,
    private readonly activity: InterruptActivity,
    private readonly viewers: Viewers,
  ) {}

  @RequireAbility('read', 'Interrupt')
  @Subscription(() => InterruptModel, {
    description:
      'Requests that the caller may see: first the open ones, newest first (at most 1,000), then each opening and settlement. Updates are coalesced: a slow subscriber gets the latest state, not each step. After a lost connection, subscribe again.',
  })
  interruptActivity(@Args() { filter }: InterruptActivityArgs, @Context() context: GraphqlContext): Batches {
    const query = toInterruptQuery(filter);
    this.viewers.enterOwn(context, 'interrupts');
    return this.follow(context, query);
  }

  private async *follow(context: GraphqlContext, query: InterruptQuery): Batches {
    const { member, signal } = context;
    // The stream delivers each open request once, never after its settlement. It also delivers the settlement, regardless of the filter.
    const delivered = new DeliveredIds();
    const { statuses, ...wanted } = query;
    const isWanted = (status: string) => statuses?.includes(status) ?? true;
    for await (const ids of this.activity.changes({ workspaceId: member.workspaceId }, signal)) {
      context.forget();
      if (ids.length === 0) {
        for await (const open of this.open(context, query)) {
          yield open.filter(({ id }) => delivered.begin(id));
        }
      }
      for (let i = 0; i < ids.length; i += pageSize) {
        const found = await this.interrupts.findMany(member, wanted, ids.slice(i, i + pageSize));
        yield found.filter(({ id, status }) => {
          if (status === 'open') return isWanted(status) && delivered.begin(id);
          return delivered.end(id) || isWanted(status);
        });
      }
    }
  }

  private async *open({ member }: GraphqlContext, query: InterruptQuery): Batches {
    if (query.statuses?.includes('open') === false) return;
    const openQuery = { ...query, statuses: ['open'] };
    let page: { readonly limit: number; readonly after?: string } = { limit: pageSize };
    for (let shown = 0; shown < maxAtFirst; shown += pageSize) {
      const found = await this.interrupts.list(member, openQuery, page);
      const shownNow = found.slice(0, pageSize);
      // A row that the activity does not know yet is left out. If it were settled before the next read, this viewer would never receive the
      // settlement.
      yield shownNow.filter(({ id }) => this.activity.isKnown(member.workspaceId, id));
      const last = shownNow.at(-1);
      if (found.length <= pageSize || last === undefined) return;
      page = { limit: pageSize, after: last.id };
    }
  }
}
