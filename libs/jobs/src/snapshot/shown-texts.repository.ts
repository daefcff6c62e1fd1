import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

import type { NewJobEvent } from '../events/job-event.js';
import { showingTypes, type ShownTexts, shownTexts } from './shown-texts.js';

/** What of an event says what is shown; text that is not content only says that its round is open. */
export const showsSql = `SELECT e.type, CASE WHEN e.body ? 'offset' THEN e.body ELSE e.body || '{"text":""}' END AS body
  FROM job_event e WHERE e.workspace_id = $1 AND e.job_id = $2 AND e.type = ANY($3) ORDER BY e.seq`;

/** Reads what the log of an unfinished job shows. */
@Injectable()
export class ShownTextsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** For `JobRun.resumeText`, when a job whose rounds may be open at once goes on. */
  async read({ workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string }): Promise<ShownTexts> {
    const rows = await this.postgres.readInWorkspace<{ type: string; body: unknown }>(workspaceId, {
      name: 'shown-texts',
      text: showsSql,
      values: [workspaceId, jobId, showingTypes],
    });
    // The log is written from NewJobEvent only, so type and body belong together.
    return shownTexts(rows as NewJobEvent[]);
  }
}
