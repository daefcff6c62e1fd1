import { newId, type SqlClient } from '#platform';

/** What was decided, by whom and about what; written in the transaction of the decision. */
export interface DecisionRecord {
  readonly workspaceId: string;
  /** Principal id: the key or the user. */
  readonly actor: string;
  /** For example `tool_approval.approved`. */
  readonly action: string;
  readonly interruptId: string;
  /** What was shown and what follows from it; no argument values. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Adds to the append-only audit. */
export async function recordDecision(client: SqlClient, record: DecisionRecord): Promise<void> {
  const { workspaceId, actor, action, interruptId, details } = record;
  await client.query(
    `INSERT INTO audit_entry (workspace_id, id, at, actor, action, subject_type, subject_id, details)
     VALUES ($1, $2, clock_timestamp(), $3, $4, 'Interrupt', $5, $6)`,
    [workspaceId, newId(), actor, action, interruptId, JSON.stringify(details)],
  );
}
