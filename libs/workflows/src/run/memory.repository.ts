import { Injectable } from '@nestjs/common';

import { type CommitPart, type ExpiredRows, type PartRow, partRow } from '#jobs';
import { Config, firstIdAt, newId, Prisma, PrismaService } from '#platform';

import type { MemoryEntry } from '../engine/node-executor.js';

type Row = readonly [
  workspaceId: string,
  jobId: string,
  id: string,
  key: string,
  session: string,
  text: string,
  metadata: object,
];

/** A node that runs again after a crash finds what it stored before. */
const memories: CommitPart<Row> = {
  name: 'memories',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['key', 'text'],
    ['session', 'text'],
    ['text', 'text'],
    ['metadata', 'jsonb'],
  ],
  sql: (rows) => `INSERT INTO workflow_memory (workspace_id, id, session_id, text, metadata, node_run_key)
  SELECT r.workspace_id, r.id, r.session, r.text, r.metadata, r.job_id || ':' || r.key
    FROM ${rows} r
  ON CONFLICT (workspace_id, node_run_key) DO UPDATE SET node_run_key = excluded.node_run_key RETURNING 1`,
};

/** What a node run stores. */
export interface NewMemory {
  readonly nodeRun: number;
  readonly sessionId: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export function memoryRow(
  { workspaceId, jobId }: { readonly workspaceId: string; readonly jobId: string },
  { nodeRun, sessionId, text, metadata }: NewMemory,
): PartRow {
  return partRow(memories, [workspaceId, jobId, newId(), String(nodeRun), sessionId, text, metadata]);
}

/** A search in the memory of a session. */
export interface MemoryQuery {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly text: string;
  readonly limit: number;
  readonly filter: Readonly<Record<string, unknown>>;
}

const searched = 2_000;

/** Returns memories of the session, best first: by the number of matching words, then newest first. */
const recalled = ({ workspaceId, sessionId, text, limit, ...query }: MemoryQuery) => {
  const words = [
    ...new Set(
      text
        .slice(0, maxRead)
        .toLowerCase()
        .match(/[\p{L}\p{N}]{2,}/gu) ?? [],
    ),
  ].slice(0, maxWords);
  const filter = JSON.stringify(query.filter);
  return Prisma.sql`SELECT m.text, coalesce(m.metadata->>'nodeId', '') AS "nodeId",
    coalesce(m.metadata->>'timestamp', to_char(m.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) AS at
  FROM (SELECT * FROM workflow_memory WHERE workspace_id = ${workspaceId}::uuid AND session_id = ${sessionId} AND metadata @> ${filter}::jsonb
         ORDER BY id DESC LIMIT ${searched}) AS m,
    LATERAL (SELECT count(*) AS hits FROM unnest(${words}::text[]) AS w(word) WHERE position(word IN lower(m.text)) > 0) AS found
 WHERE found.hits > 0 OR cardinality(${words}::text[]) = 0
 ORDER BY found.hits DESC, m.id DESC LIMIT ${limit}`;
};

const maxWords = 50;
/** UTF-16 units of a query that are searched for its words: reading 4 MiB would block the process for half a second. */
const maxRead = 65_536;

const forgottenAtOnce = 1_000;

/** Deletes memories older than an id of that time, and all but the newest of each session. */

/** What workflows remember, by session. */
@Injectable()
export class MemoryRepository implements ExpiredRows {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: Config,
  ) {}

  recall(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    return this.prisma.queryInWorkspace<MemoryEntry>(query, recalled(query));
  }

  deleteExpired(workspaceId: string): Promise<number> {
    const { MEMORY_RETENTION_MS: retentionMs, MEMORIES_PER_SESSION: kept } = this.config.values;
    const since = firstIdAt(retentionMs === 0 ? 0 : Date.now() - retentionMs);
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$executeRaw`DELETE FROM workflow_memory WHERE workspace_id = ${workspaceId}::uuid AND id IN (
  (SELECT id FROM workflow_memory WHERE workspace_id = ${workspaceId}::uuid AND id < ${since}::uuid ORDER BY id LIMIT ${forgottenAtOnce})
  UNION ALL
  (SELECT m.id FROM (SELECT session_id FROM workflow_memory WHERE workspace_id = ${workspaceId}::uuid GROUP BY 1 HAVING count(*) > ${kept}) s
    CROSS JOIN LATERAL (SELECT id FROM workflow_memory WHERE workspace_id = ${workspaceId}::uuid AND session_id = s.session_id
                         ORDER BY id DESC OFFSET ${kept}) m LIMIT ${forgottenAtOnce}))`,
    );
  }
}
