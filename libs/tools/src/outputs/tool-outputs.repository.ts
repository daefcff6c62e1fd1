import { Injectable } from '@nestjs/common';

import { Postgres, type SqlClient } from '#platform';

/** Who reads: a job at work, which sees its own calls and those of its thread. */
export interface OutputReader {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
}

// The job's own call first: ids of models repeat from job to job.
const OUTPUT = `SELECT coalesce(o.text, c.result) AS text
  FROM tool_call c LEFT JOIN tool_output o ON o.workspace_id = c.workspace_id AND o.tool_call_id = c.id
 WHERE c.workspace_id = $1 AND c.call_id = $2 AND (c.job_id = $3 OR c.thread_id = $4)
   AND coalesce(o.text, c.result) IS NOT NULL
 ORDER BY c.job_id = $3 DESC, c.id DESC LIMIT 1`;

/** Results that were too large for their row in the ledger. */
@Injectable()
export class ToolOutputsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The whole result of a call, by the id the model knows it by. Null: no such call there, or none with a result. */
  async find(reader: OutputReader, callId: string): Promise<string | null> {
    const { workspaceId, jobId, threadId } = reader;
    const [row] = await this.postgres.readInWorkspace<{ text: string }>(workspaceId, {
      name: 'tool-output',
      text: OUTPUT,
      values: [workspaceId, callId, jobId, threadId],
    });
    return row?.text ?? null;
  }

  /** Keeps the whole text of a result, for those who settle a call in a transaction of their own. */
  async keep(
    client: SqlClient,
    call: { readonly workspaceId: string; readonly jobId: string; readonly id: string },
    whole: string,
  ): Promise<void> {
    await client.query(
      `INSERT INTO tool_output (workspace_id, tool_call_id, job_id, text, bytes) VALUES ($1, $2, $3, $4, octet_length($4))`,
      [call.workspaceId, call.id, call.jobId, whole],
    );
  }
}
