import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { appendAudit, type Prisma, PrismaService } from '#platform';

/** A read of calls by a principal who may read those of all members. */
export interface HistoryAccess {
  readonly action: 'tool-calls-listed' | 'tool-calls-counted' | 'tool-calls-exported' | 'tool-call-opened';
  readonly subject: { readonly type: 'Workspace' | 'ToolCall'; readonly id: string };
  /** The request as JSON, without secrets. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** The audit log of reads of other users' calls. */
@Injectable()
export class HistoryAccessRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Adds an entry. The caller returns the calls only after the entry is stored. */
  async record(principal: Principal, { action, subject, details }: HistoryAccess): Promise<void> {
    const { workspaceId, id: actor } = principal;
    const about = { subjectType: subject.type, subjectId: subject.id };
    const json = details as Prisma.InputJsonObject; // its callers pass JSON only
    const entry = { workspaceId, actor, action, ...about, details: json };
    await this.prisma.withWorkspace(principal, (tx) => appendAudit(tx, entry));
  }
}
