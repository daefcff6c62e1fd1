import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal } from '#auth';
import { endTextsOfRequest, Redactor } from '#platform';

import { HistoryAccessRepository } from './history-access.repository.js';
import type { HistoryPage, HistoryQuery } from './history-query.js';
import { type ToolCallContent, ToolCallContentRepository } from './tool-call-content.repository.js';
import {
  assertToolCallFilter,
  type ToolCallFilter,
  type ToolCallOrder,
  type ToolCallPlace,
} from './tool-call-filter.js';
import { type HistoryCount, ToolCallHistoryRepository } from './tool-call-history.repository.js';
import type { ToolCallRecord } from './tool-call-record.js';
import { assertStatsQuery, type StatsQuery, type ToolCallStats } from './tool-call-stats.js';
import { ToolCallStatsRepository } from './tool-call-stats.repository.js';

/** Called before each page of an export: returns the current principal; null: the principal may no longer read anything. */
export type StillThere = () => Promise<MemberPrincipal | null>;

/** Calls per page of an export, which memory holds at once. Results may be large. */
const EXPORT_PAGE = 50;
const newestFirst: ToolCallOrder = { by: 'time', direction: 'desc' };
/** An id that no user has. */
const UNKNOWN_USER = '00000000-0000-0000-0000-000000000000';

/**
 * The calls of a workspace across its jobs. Administrators read all calls, and each read is audited; other members read those of their own
 * jobs. Throws `bad_request` for an invalid filter. Calls that the caller may not read do not appear.
 */
@Injectable()
export class ToolCallHistory {
  constructor(
    private readonly calls: ToolCallHistoryRepository,
    private readonly statistics: ToolCallStatsRepository,
    private readonly contents: ToolCallContentRepository,
    private readonly audit: HistoryAccessRepository,
    private readonly redactor: Redactor,
  ) {}

  async page(principal: MemberPrincipal, query: Omit<HistoryQuery, 'workspaceId' | 'isWhole'>): Promise<HistoryPage> {
    assertToolCallFilter(query.filter);
    const { order } = query;
    await this.recordLook(principal, 'tool-calls-listed', { filter: this.shown(principal, query.filter), order });
    return this.calls.page({ ...query, workspaceId: principal.workspaceId, filter: within(principal, query.filter) });
  }

  /** The caller also reads the list, which is audited, so the count is not. */
  count(principal: MemberPrincipal, filter: ToolCallFilter, by: ToolCallOrder['by']): Promise<HistoryCount> {
    return this.calls.count(principal.workspaceId, within(principal, filter), by);
  }

  async stats(principal: MemberPrincipal, filter: ToolCallFilter, query: StatsQuery): Promise<ToolCallStats> {
    assertToolCallFilter(filter);
    assertStatsQuery(query);
    await this.recordLook(principal, 'tool-calls-counted', { filter: this.shown(principal, filter), ...query });
    return this.statistics.read(principal.workspaceId, within(principal, filter), query);
  }

  /**
   * Returns the complete content of a call; null if the call does not exist, or belongs to another user's job and the caller is not an
   * administrator.
   */
  async open(
    principal: MemberPrincipal,
    id: string,
    part: { readonly offset: number; readonly length: number },
  ): Promise<ToolCallContent | null> {
    const { workspaceId } = principal;
    const content = await this.contents.find(workspaceId, id, part);
    if (content === null || !maySurvey(principal, content.createdBy)) return null;
    if (maySurvey(principal)) {
      await this.audit.record(principal, {
        action: 'tool-call-opened',
        subject: { type: 'ToolCall', id },
        details: {},
      });
    }
    return content;
  }

  /**
   * Yields all matching calls, newest first, a page at a time; each page is read when the consumer requests it. New calls are not included.
   * If the caller's rights shrink meanwhile, the export fails with the error that `onLost` returns.
   */
  async *export(
    principal: MemberPrincipal,
    filter: ToolCallFilter,
    { stillThere, onLost }: { readonly stillThere: StillThere; readonly onLost: () => Error },
  ): AsyncGenerator<readonly ToolCallRecord[], void> {
    endTextsOfRequest(); // an export may have any number of pages
    await this.recordLook(principal, 'tool-calls-exported', { filter: this.shown(principal, filter) });
    const { workspaceId } = principal;
    let after: ToolCallPlace | null = null;
    do {
      const now = await stillThere();
      if (now === null || maySurvey(now) !== maySurvey(principal)) throw onLost();
      const query = { workspaceId, filter: within(now, filter), order: newestFirst, limit: EXPORT_PAGE, after };
      const page: HistoryPage = await this.calls.page({ ...query, isWhole: true });
      yield page.rows;
      after = page.next;
    } while (after !== null);
  }

  private async recordLook(
    principal: MemberPrincipal,
    action: 'tool-calls-listed' | 'tool-calls-counted' | 'tool-calls-exported',
    details: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (!maySurvey(principal)) return;
    await this.audit.record(principal, { action, subject: { type: 'Workspace', id: principal.workspaceId }, details });
  }

  /** The filter for the audit log, without secrets. */
  private shown({ workspaceId }: MemberPrincipal, filter: ToolCallFilter): Readonly<Record<string, unknown>> {
    const redactor = this.redactor.of(workspaceId);
    const hide = <T>(value: T) => (typeof value === 'string' ? redactor.redact(value) : value);
    const conditions = filter.arguments?.map(({ path, value }) => ({ path, value: hide(value) }));
    const entries = Object.entries({ ...filter, arguments: conditions });
    return Object.fromEntries(entries.map(([member, value]) => [member, hide(value)]));
  }
}

/** Whether the principal may read the calls of jobs of this user; without `createdBy`, those of all users. */
function maySurvey(principal: MemberPrincipal, createdBy?: string | null): boolean {
  const { workspaceId } = principal;
  const row = createdBy === undefined ? { workspaceId } : { workspaceId, createdBy };
  return abilityOf(principal).can('survey', asSubject('ToolCall', row));
}

/** The filter, restricted to the calls that the principal may read. */
function within(principal: MemberPrincipal, filter: ToolCallFilter): ToolCallFilter {
  if (maySurvey(principal)) return filter;
  const { userId } = principal;
  const isOwn = maySurvey(principal, userId) && (filter.createdBy ?? userId) === userId;
  return { ...filter, createdBy: isOwn ? userId : UNKNOWN_USER };
}
