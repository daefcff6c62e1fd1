import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { Postgres } from '#platform';

/** A call that waits for a client of whoever started its job. */
export interface PendingCall {
  /** The ledger row's id. */
  readonly toolCallId: string;
  /** As the client knows it. */
  readonly callId: string;
  readonly name: string;
  /** JSON text, as it is to be run. */
  readonly arguments: string;
  /** Somebody has had the server run it. */
  readonly isExecuted: boolean;
}

/** Ids of calls are unique among those that wait for one principal by way of OpenAI's API; elsewhere the newest counts. */
const pendingSql = `SELECT i.tool_call_id AS "toolCallId", i.call_id AS "callId", i.tool AS name, i.request->>'arguments' AS arguments,
       EXISTS (SELECT 1 FROM executed_call e WHERE e.workspace_id = $1 AND e.tool_call_id = i.tool_call_id) AS "isExecuted"
  FROM interrupt i JOIN tool_call t ON t.workspace_id = i.workspace_id AND t.id = i.tool_call_id
 WHERE i.workspace_id = $1 AND i.principal = $2 AND i.call_id = $3 AND i.status = 'open' AND i.kind = 'client_tool'
   AND t.status = 'awaiting_client' ORDER BY i.id DESC LIMIT 1`;

/** Reads calls that wait for clients, as the API's role inside the workspace. */
@Injectable()
export class PendingCallsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** By the id that the client knows. Null: there is none, or it waits for somebody else. */
  async find({ workspaceId, id }: Pick<Principal, 'workspaceId' | 'id'>, callId: string): Promise<PendingCall | null> {
    const [row] = await this.postgres.readInWorkspace<PendingCall>(workspaceId, {
      name: 'pending-call',
      text: pendingSql,
      values: [workspaceId, id, callId],
    });
    return row ?? null;
  }
}
