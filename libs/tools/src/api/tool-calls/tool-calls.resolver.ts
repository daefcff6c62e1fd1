import { Args, Context, ID, Query, ResolveField, Resolver } from '@nestjs/graphql';

import { type GraphqlContext, RequireAbility } from '#auth/api';
import { isId, systemClock } from '#platform';
import {
  type ConnectionOf,
  idOfCursor,
  invalidCursor,
  pageCost,
  textOfCursor,
  toCursor,
  toWantedPage,
  type WantedPage,
} from '#platform/api';

import type { HistoryPage } from '../../history/history-query.js';
import type { ToolCallOrder, ToolCallPlace } from '../../history/tool-call-filter.js';
import type { HistoryCount } from '../../history/tool-call-history.repository.js';
import { ToolCallHistory } from '../../history/tool-call-history.service.js';
import type { ToolCallRecord } from '../../history/tool-call-record.js';
import type { ToolCallStats as Stats } from '../../history/tool-call-stats.js';
import { toToolCallFilter } from './to-tool-call-filter.js';
import { ToolCall, ToolCallConnection } from './tool-call.model.js';
import { ToolCallLoaders } from './tool-call-loaders.js';
import { ToolCallStats } from './tool-call-stats.model.js';
import { ToolCallsArgs, ToolCallStatsArgs } from './tool-calls.args.js';

const kinds = { time: 'toolCalls', duration: 'toolCallsByDuration' } as const;

/** The cursor of a position in a list of calls. */
export function toPlaceCursor({ by }: ToolCallOrder, { id, durationMs = 0, name = '' }: ToolCallPlace): string {
  return toCursor(kinds[by], by === 'time' ? id : `${durationMs}|${id}|${name}`);
}

/** The position in a cursor. Throws `invalid_cursor` for a cursor of another list. */
export function placeOfCursor({ by }: ToolCallOrder, cursor: string, field: string): ToolCallPlace {
  if (by === 'time') return { id: idOfCursor(cursor, kinds.time, field) };
  const [, duration = '', id = '', name = ''] =
    /^(\d{1,10})\|([^|]*)\|(.*)$/s.exec(textOfCursor(cursor, kinds.duration, field)) ?? [];
  const durationMs = Number(duration);
  if (!isId(id) || durationMs > 2_147_483_647) throw invalidCursor(field);
  return { id, durationMs, name };
}

const DAY_MS = 86_400_000;

/** Queries tool calls across jobs. */
@Resolver(() => ToolCall)
export class ToolCallsResolver {
  constructor(
    private readonly history: ToolCallHistory,
    private readonly loaders: ToolCallLoaders,
  ) {}

  @RequireAbility('survey', 'ToolCall')
  @Query(() => ToolCall, { nullable: true, description: 'A tool call. Null: not found.' })
  toolCall(
    @Args('id', { type: () => ID, description: 'The id of the call.' }) id: string,
    @Context() context: GraphqlContext,
  ): Promise<ToolCallRecord | null> | null {
    return isId(id) ? this.loaders.of(context).toolCalls.load(id) : null;
  }

  @RequireAbility('survey', 'ToolCall')
  @Query(() => ToolCallConnection, {
    name: 'toolCalls',
    description:
      'Tool calls across jobs. Admins see all calls, others those of their own jobs. A page that would take too long is shorter than requested, possibly empty, with `hasNextPage` true: continue after `endCursor`.',
    complexity: (options) => 50 + pageCost(options),
  })
  async list(@Args() args: ToolCallsArgs, @Context() { member }: GraphqlContext): Promise<ToolCallPage> {
    const page = toWantedPage(args);
    const filter = toToolCallFilter(args.filter);
    const { field: by = 'time', direction = 'desc' } = args.orderBy ?? {};
    const after = page.cursor === undefined ? null : placeOfCursor({ by, direction }, page.cursor, page.field);
    const order: ToolCallOrder = { by, direction: page.reverse ? opposite[direction] : direction };
    const found = await this.history.page(member, { filter, order, limit: page.limit, after });
    return toToolCallPage(found, { page, order, count: () => this.history.count(member, filter, by) });
  }

  @RequireAbility('survey', 'ToolCall')
  @Query(() => ToolCallStats, {
    name: 'toolCallStats',
    description: 'Counts, error rates, durations and bytes of the calls that `toolCalls` would return.',
    complexity: 200,
  })
  stats(@Args() args: ToolCallStatsArgs, @Context() { member }: GraphqlContext): Promise<Stats> {
    const { groupBy, bucket } = args;
    const since = { createdAfter: systemClock.now() - DAY_MS };
    return this.history.stats(member, { ...since, ...toToolCallFilter(args.filter) }, { groupBy, bucket });
  }
}

/** The extra fields of a page of calls. */
@Resolver(() => ToolCallConnection)
export class ToolCallConnectionResolver {
  @ResolveField(() => Boolean, {
    description:
      'Whether `totalCount` is exact. False: a lower bound. Counting stops at 10,000, and earlier for filters that no single index covers.',
  })
  totalCountIsExact(page: ToolCallPage): Promise<boolean> {
    return page.totalCountIsExact;
  }
}

const opposite = { asc: 'desc', desc: 'asc' } as const;

/** A page of calls before GraphQL resolves its fields. */
interface ToolCallPage extends ConnectionOf<ToolCallRecord> {
  /** Whether `totalCount` is exact. The calls are counted once, when a client first reads one of the two fields. */
  readonly totalCountIsExact: Promise<boolean>;
}

/**
 * A page of the history as a connection. If the history stopped searching, the page ends at a position without a call:
 * its cursor is the position to continue from.
 */
export function toToolCallPage(
  { rows, next }: HistoryPage,
  {
    page,
    order,
    count,
  }: { readonly page: WantedPage; readonly order: ToolCallOrder; readonly count: () => Promise<HistoryCount> },
): ToolCallPage {
  const nodes = page.reverse ? rows.toReversed() : rows;
  const cursorOf = (call: ToolCallRecord) => toPlaceCursor(order, placeOf(call));
  const edges = nodes.map((node) => ({ cursor: cursorOf(node), node }));
  const onward = next === null ? null : toPlaceCursor(order, next);
  const came = page.cursor !== undefined;
  let counted: Promise<HistoryCount> | undefined;
  const counting = () => (counted ??= count());
  return {
    edges,
    nodes,
    pageInfo: {
      hasNextPage: page.reverse ? came : next !== null,
      hasPreviousPage: page.reverse ? next !== null : came,
      startCursor: (page.reverse ? onward : null) ?? edges[0]?.cursor ?? null,
      endCursor: (page.reverse ? null : onward) ?? edges.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      return counting().then(({ count: total }) => total);
    },
    get totalCountIsExact() {
      return counting().then(({ isExact }) => isExact);
    },
  };
}

function placeOf({ id, durationMs, name }: ToolCallRecord) {
  return durationMs === null ? { id } : { id, durationMs, name };
}
