import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { seedWorkspace } from '../../../../test/harness/engine.js';
import { idAt, insertCalls, type PastCall } from '../../../../test/harness/tool-call-history.js';
import { matchesGlob } from '../matches-glob.js';
import {
  type ArgumentCondition,
  argumentContent,
  argumentContents,
  parseArgumentCondition,
} from './argument-content.js';
import type { HistoryQuery } from './history-query.js';
import type { ToolCallFilter, ToolCallOrder, ToolCallPlace } from './tool-call-filter.js';
import { ToolCallHistoryRepository } from './tool-call-history.repository.js';

const DAY_MS = 86_400_000;
const END = Date.UTC(2026, 10, 1, 12);
const users = [newId(), newId(), newId()];
const threads = [newId(), newId(), newId(), newId()];
const workflows = [newId(), newId()];
const names = ['add', 'web_search', 'crm.find', 'crm.update', 'files.read'];
const approvers = ['user:a', 'key:b'];

/** Numbers that look random and are the same every time. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % sides;
  };
}

function pick<T>(values: readonly T[], n: number): T {
  const value = values[n % values.length];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
}

const failures = [
  { status: 'error', error: { phase: 'execution', message: 'Tool failed: ECONNREFUSED 10.0.0.7' } },
  { status: 'error', error: { phase: 'execution', code: 'quota', message: 'Quota of project Blue is used up' } },
  { status: 'error', error: { phase: 'validation', message: 'Arguments do not fit: /to must be string' } },
  { status: 'timed_out', error: { phase: 'timeout', message: 'Handler timeout after 100ms' } },
  { status: 'denied', error: { phase: 'approval', message: 'Tool execution rejected by user' } },
] as const;

function makeCalls(count: number): PastCall[] {
  const roll = dice(7);
  return Array.from({ length: count }, (_, n): PastCall => {
    const createdAt = END - (count - n) * 9_000 - (n < count / 2 ? 20 * DAY_MS : 0);
    const kind = roll(20);
    const failed = kind < 4 ? pick(failures, roll(5)) : undefined;
    const status = failed?.status ?? (kind === 4 ? 'running' : 'completed');
    return {
      id: idAt(createdAt - roll(50), n),
      jobId: idAt(createdAt - (createdAt % 60_000), roll(3)),
      createdAt,
      createdBy: roll(30) === 0 ? null : pick(users, roll(roll(3) + 1)),
      threadId: pick(threads, roll(roll(4) + 1)),
      workflowId: roll(50) === 0 ? pick(workflows, roll(2)) : null,
      name: pick(names, roll(roll(5) + 1)),
      runtime: roll(15) === 0 ? 'mcp' : 'server',
      status,
      error: failed?.error ?? null,
      decidedBy: roll(40) === 0 ? pick(approvers, roll(2)) : null,
      durationMs: status === 'completed' || status === 'error' ? roll(200) : null,
      arguments: JSON.stringify({ to: `user${roll(9)}`, list: [roll(3), { deep: roll(2) === 0 }], n: roll(1_000) }),
      result: status === 'completed' ? 'ok' : null,
    };
  });
}

/** A call with what a filter may ask for. */
interface ReadCall extends PastCall {
  readonly contents: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

function toRead(call: PastCall): ReadCall {
  const words = new Set(call.error?.message.toLowerCase().match(/[a-z0-9]+/g));
  return { ...call, contents: new Set(argumentContents(call.arguments)), words };
}

/** The meaning of a filter, repeated without SQL. */
function fits(call: ReadCall, filter: ToolCallFilter): boolean {
  const has = <T>(wanted: T | undefined, value: T | null) => wanted === undefined || wanted === value;
  const { minDurationMs: least = -1, maxDurationMs: most = Infinity } = filter;
  const isTimed = filter.minDurationMs !== undefined || filter.maxDurationMs !== undefined;
  return (
    has(filter.createdBy, call.createdBy) &&
    has(filter.threadId, call.threadId) &&
    has(filter.jobId, call.jobId) &&
    has(filter.workflowId, call.workflowId) &&
    has(filter.approver, call.decidedBy) &&
    has(filter.errorPhase, call.error?.phase ?? null) &&
    has(filter.errorCode, call.error?.code ?? null) &&
    (filter.tool === undefined || matchesGlob(filter.tool, call.name)) &&
    (filter.runtimes?.some((runtime) => runtime === call.runtime) ?? true) &&
    (filter.statuses?.some((status) => status === call.status) ?? true) &&
    call.createdAt >= (filter.createdAfter ?? 0) &&
    call.createdAt < (filter.createdBefore ?? Infinity) &&
    (!isTimed || (call.durationMs !== null && call.durationMs >= least && call.durationMs < most)) &&
    (filter.arguments ?? []).every((condition) => call.contents.has(argumentContent(condition))) &&
    (filter.errorText?.toLowerCase().match(/[a-z0-9]+/g) ?? []).every((word) => call.words.has(word))
  );
}

function inOrder(calls: readonly PastCall[], { by, direction }: ToolCallOrder): string[] {
  const text = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  const byTime = (a: PastCall, b: PastCall) => text(a.id, b.id);
  const byDuration = (a: PastCall, b: PastCall) =>
    (a.durationMs ?? 0) - (b.durationMs ?? 0) || text(a.name, b.name) || byTime(a, b);
  const chosen = by === 'time' ? calls.toSorted(byTime) : calls.filter((c) => c.durationMs !== null).sort(byDuration);
  return (direction === 'asc' ? chosen : chosen.reverse()).map(({ id }) => id);
}

const condition = fc.constantFrom('$.to = "user3"', '$.list[0] = 1', '$.list[1].deep = true', '$.n = 7', '$.n = "7"');
const instant = fc.integer({ min: END - 24 * DAY_MS, max: END });
const whole: fc.Arbitrary<Required<Omit<ToolCallFilter, 'jobId'>>> = fc.record({
  createdBy: fc.constantFrom(...users),
  threadId: fc.constantFrom(...threads),
  workflowId: fc.constantFrom(...workflows),
  tool: fc.constantFrom(...names, 'crm.*', '*e*', 'add?', 'nothing', 'f?les.*'),
  runtimes: fc.constantFrom(['mcp'] as const, ['server', 'mcp'] as const, ['client'] as const),
  statuses: fc.subarray(['completed', 'running', 'error', 'timed_out', 'denied', 'skipped'] as const),
  errorPhase: fc.constantFrom('execution', 'validation', 'timeout', 'approval'),
  errorCode: fc.constantFrom('quota', 'none'),
  approver: fc.constantFrom(...approvers),
  createdAfter: instant,
  createdBefore: instant,
  minDurationMs: fc.integer({ min: 0, max: 200 }),
  maxDurationMs: fc.integer({ min: 0, max: 200 }),
  arguments: fc.array(condition.map<ArgumentCondition>(parseArgumentCondition), { minLength: 1, maxLength: 3 }),
  errorText: fc.constantFrom('econnrefused', 'Quota project', 'user', 'up used IS blue quota'),
});
const members = [
  'createdBy',
  'threadId',
  'workflowId',
  'tool',
  'runtimes',
  'statuses',
  'errorPhase',
  'errorCode',
  'approver',
  'createdAfter',
  'createdBefore',
  'minDurationMs',
  'maxDurationMs',
  'arguments',
  'errorText',
] as const;
/** Few members at once, because no call matches a filter with all of them. */
const filters = fc
  .tuple(whole, fc.subarray([...members], { maxLength: 3 }))
  .map(([filter, chosen]): ToolCallFilter => Object.fromEntries(chosen.map((member) => [member, filter[member]])));
const orders: fc.Arbitrary<ToolCallOrder> = fc.record({
  by: fc.constantFrom('time', 'duration'),
  direction: fc.constantFrom('asc', 'desc'),
});

describe('the history of tool calls', () => {
  const calls = makeCalls(20_000).map(toRead);
  let database: TestDatabase;
  let history: ToolCallHistoryRepository;
  let workspaceId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    ({ workspaceId } = await seedWorkspace(database));
    const other = await seedWorkspace(database);
    await insertCalls(database, workspaceId, calls);
    await insertCalls(database, other.workspaceId, makeCalls(2_000));
    history = new ToolCallHistoryRepository(database.prisma);
  });

  afterAll(() => database.close());

  /** All pages of a list; a page may be short, but has to get on. */
  const readAll = async (query: Omit<HistoryQuery, 'workspaceId' | 'after'>): Promise<string[]> => {
    const ids: string[] = [];
    let after: ToolCallPlace | null = null;
    for (;;) {
      const page = await history.page({ ...query, workspaceId, after });
      ids.push(...page.rows.map(({ id }) => id));
      expect(page.rows.length).toBeLessThanOrEqual(query.limit);
      if (page.next === null) return ids;
      expect(page.next).not.toEqual(after);
      after = page.next;
    }
  };

  it('returns exactly the matching calls in order for every filter', async () => {
    await fc.assert(
      fc.asyncProperty(filters, orders, async (filter, order) => {
        const expected = inOrder(
          calls.filter((call) => fits(call, filter)),
          order,
        );
        expect(await readAll({ filter, order, limit: 3_000 })).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('continues from any cursor in either direction', async () => {
    const order = { by: 'time', direction: 'asc' } as const;
    const all = inOrder(calls, order);
    const middle = all[10_000] ?? '';
    const newer = await history.page({ workspaceId, filter: {}, order, limit: 3, after: { id: middle } });
    expect(newer.rows.map(({ id }) => id)).toEqual(all.slice(10_001, 10_004));
    const older = await history.page({
      workspaceId,
      filter: {},
      order: { by: 'time', direction: 'desc' },
      limit: 3,
      after: { id: middle },
    });
    expect(older.rows.map(({ id }) => id)).toEqual(all.slice(9_997, 10_000).reverse());
  });

  it('counts the matching calls, or reports that their number exceeds the limit', async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.constantFrom('time', 'duration'), async (filter, by) => {
        const expected = inOrder(
          calls.filter((call) => fits(call, filter)),
          { by, direction: 'asc' },
        ).length;
        const { count, isExact } = await history.count(workspaceId, filter, by);
        expect(isExact ? count : count <= expected).toBe(isExact ? expected : true);
      }),
      { numRuns: 40 },
    );
    expect(await history.count(workspaceId, {}, 'time')).toEqual({ count: 10_000, isExact: false });
  });

  it('shows no calls of another workspace for any content', async () => {
    const { workspaceId: stranger } = await seedWorkspace(database);
    const query = { order: { by: 'time', direction: 'desc' }, limit: 10, after: null } as const;
    for (const filter of [
      {},
      { arguments: [parseArgumentCondition('$.to = "user3"')] },
      { errorText: 'quota' },
      { tool: 'c*' },
    ]) {
      expect(await history.page({ ...query, workspaceId: stranger, filter })).toEqual({ rows: [], next: null });
    }
  });
});
