import { Injectable } from '@nestjs/common';

import { Postgres, Prisma, PrismaService, systemClock, WorkspaceBatches } from '#platform';

import { isDelta, type JobEvent } from '../events/job-event.js';
import { eventsOf, type StoredLogRow } from '../events/packed-events.js';

/** The position of a reader in the log of a job. */
export interface Cursor {
  readonly jobId: string;
  /** The number of the last event that it has. */
  readonly after: number;
}

/** Maximum number of events of one job in one page. */
export const feedPage = 500;
/** A page ends with the event that reaches this many bytes, so that the buffer of a slow viewer does not grow with the text. */
export const feedPageBytes = 256 * 1024;

/** Maximum number of cursors in one statement. */
const maxTogether = 200;

interface EventRow extends StoredLogRow {
  readonly i: number;
}

// A row is read as long as the rows before it are less than a page; of the first row only the events after the cursor count. Rows of
// earlier versions, and of statements whose bodies are short, have no `body_bytes`.
const readSql = `SELECT w.i, e.seq, e.attempt, e.type, e.body, e.events, (extract(epoch FROM e.at) * 1000)::float8 AS at
  FROM json_to_recordset($2::json) AS w(i int, "jobId" uuid, after int),
       LATERAL (SELECT unread.*, sum(least(events, seq - w.after)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
                                - least(events, seq - w.after) AS before,
                       sum(bytes) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
                  FROM (SELECT *, coalesce(body_bytes, octet_length(body::text)) AS bytes FROM job_event
                         WHERE workspace_id = $1 AND job_id = w."jobId" AND seq > w.after
                         ORDER BY seq LIMIT ${feedPage}) unread) e
 WHERE e.before < ${feedPage} AND e.bytes_before < ${feedPageBytes}
 ORDER BY w.i, e.seq`;

/** Reads logs for viewers, inside a transaction of the workspace, which hides the logs of other workspaces. */
@Injectable()
export class FeedRepository {
  private readonly batches: WorkspaceBatches<Cursor, readonly JobEvent[]>;

  constructor(
    private readonly postgres: Postgres,
    private readonly prisma: PrismaService,
  ) {
    this.batches = new WorkspaceBatches((workspaceId, cursors) => this.readAll(workspaceId, cursors), systemClock, {
      tickMs: 0,
      maxBatch: maxTogether,
    });
  }

  /**
   * The events after the cursor, in order: at most `feedPage` events and, except for the last one, `feedPageBytes`. One statement for
   * any number of concurrent readers.
   */
  readAfter(workspaceId: string, cursor: Cursor): Promise<readonly JobEvent[]> {
    return this.batches.submit(workspaceId, cursor);
  }

  /** The last number of the log, whether the job has ended, and how many events and bytes are kept after the cursor. Null: no such job. */
  async measureAfter(workspaceId: string, { jobId, after }: Cursor): Promise<Distance | null> {
    const [distance] = await this.prisma.queryInWorkspace<Distance>(
      { workspaceId },
      Prisma.sql`
        SELECT j.last_seq AS "lastSeq", j.status IN ('completed', 'failed', 'cancelled') AS ended,
               coalesce(sum(least(e.events, e.seq - ${after}::int)), 0)::int AS kept,
               coalesce(sum(coalesce(e.body_bytes, pg_column_size(e.body))), 0)::float8 AS bytes
          FROM job j LEFT JOIN job_event e ON e.workspace_id = j.workspace_id AND e.job_id = j.id AND e.seq > ${after}::int
         WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid GROUP BY 1, 2`,
    );
    return distance ?? null;
  }

  private async readAll(workspaceId: string, cursors: readonly Cursor[]): Promise<(readonly JobEvent[])[]> {
    const wanted = cursors.map(({ jobId, after }, i) => ({ i, jobId, after }));
    const rows = await this.postgres.readInWorkspace<EventRow>(workspaceId, {
      name: 'feed-read',
      text: readSql,
      values: [workspaceId, JSON.stringify(wanted)],
    });
    const found = cursors.map((): JobEvent[] => []);
    for (const { i, ...row } of rows) {
      const cursor = cursors[i];
      if (cursor !== undefined) found[i]?.push(...eventsOf(row, cursor));
    }
    return found.map((events) => events.slice(0, feedPage));
  }
}

/**
 * Whether more may follow a page. Counts the text of deltas and the JSON of other events, which may be fewer bytes than the rows that limit a
 * page. So it compares with half the limit.
 */
export function isFull(page: readonly JobEvent[]): boolean {
  return page.length >= feedPage || bytesOf(page) >= feedPageBytes / 2;
}

function bytesOf(events: readonly JobEvent[]): number {
  return events.reduce(
    (sum, event) => sum + Buffer.byteLength(isDelta(event) ? event.body.text : JSON.stringify(event.body)),
    0,
  );
}

export interface Distance {
  readonly lastSeq: number;
  readonly ended: boolean;
  /** Events after the cursor that are still kept. */
  readonly kept: number;
  readonly bytes: number;
}
