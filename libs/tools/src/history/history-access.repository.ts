import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { newId, Postgres } from '#platform';

/** What somebody looked at who may look at everybody's calls. */
export interface HistoryAccess {
  readonly action: 'tool-calls-listed' | 'tool-calls-counted' | 'tool-calls-exported' | 'tool-call-opened';
  readonly subject: { readonly type: 'Workspace' | 'ToolCall'; readonly id: string };
  /** What was asked for; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** The audit of who looked through other people's calls. */
@Injectable()
export class HistoryAccessRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Adds an entry; what it tells of is shown only when it is written. */
  async record({ workspaceId, id: actor }: Principal, { action, subject, details }: HistoryAccess): Promise<void> {
    await this.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO audit_entry (workspace_id, id, at, actor, action, subject_type, subject_id, details)
         VALUES ($1, $2, clock_timestamp(), $3, $4, $5, $6, $7)`,
        [workspaceId, newId(), actor, action, subject.type, subject.id, JSON.stringify(details)],
      ),
    );
  }
}
