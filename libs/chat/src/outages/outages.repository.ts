import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** The newest wait of a conversation for its provider. */
export interface StoredOutage {
  /** Of the interrupt. */
  readonly id: string;
  /** Ms since the epoch. */
  readonly since: number;
  readonly failures: number;
  /** Committed rounds of the conversation when the request failed: another number means that it has continued since. */
  readonly committed: number;
  /** `retry` and `give_up`: a person's decision; `retried`: its timer; null: open. */
  readonly outcome: string | null;
}

/** A wait that a person ended by giving the provider up. */
export interface GivenUp {
  readonly code: string;
  readonly message: string;
}

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Reads where the conversations of a job stand in an outage of their provider. */
@Injectable()
export class OutagesRepository {
  constructor(private readonly postgres: Postgres) {}

  /** `place` identifies the conversation within its job. */
  async newest({ workspaceId, jobId }: JobRef, place: string): Promise<StoredOutage | null> {
    const [row] = await this.postgres.readInWorkspace<StoredOutage & Record<string, unknown>>(workspaceId, {
      name: 'newest-outage',
      text: `SELECT i.id, (i.request->>'since')::float8 AS since, (i.request->>'failures')::int AS failures,
          (i.request->>'committed')::int AS committed, i.outcome->>'outcome' AS outcome
        FROM interrupt i WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.kind = 'provider_unavailable'
         AND i.request->>'place' = $3 ORDER BY i.id DESC LIMIT 1`,
      values: [workspaceId, jobId, place],
    });
    return row ?? null;
  }

  async givenUp({ workspaceId, jobId }: JobRef): Promise<GivenUp | null> {
    const [row] = await this.postgres.readInWorkspace<GivenUp & Record<string, unknown>>(workspaceId, {
      name: 'given-up-outage',
      text: `SELECT i.request->>'code' AS code, i.request->>'reason' AS message FROM interrupt i
        WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.kind = 'provider_unavailable'
         AND i.outcome->>'outcome' = 'give_up' LIMIT 1`,
      values: [workspaceId, jobId],
    });
    return row ?? null;
  }
}
