import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import type { Delta, NewJobEvent } from '../events/job-event.js';
import type { JobRef } from '../job.js';
import { showingTypes, type ShownTexts, shownTexts } from './shown-texts.js';

const showing = [...showingTypes];

/** Events that determine the shown text. Text that is not content is read as empty: it only marks its round as open. */
export const showsOf = ({
  workspaceId,
  jobId,
}: JobRef) => Prisma.sql`SELECT e.type, CASE WHEN e.body ? 'offset' THEN e.body ELSE e.body || '{"text":""}' END AS body
  FROM job_event e WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.type = ANY(${showing}) ORDER BY e.seq`;

/**
 * Selects the events since the job last waited, and the last earlier event that determines the length of the reasoning. That event is not
 * looked up if no round has reasoning.
 */
const tailOf = ({
  workspaceId,
  jobId,
}: JobRef) => Prisma.sql`WITH rest AS MATERIALIZED (SELECT coalesce((SELECT seq FROM job_event WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid
    AND type = 'job-waiting' ORDER BY seq DESC LIMIT 1), 0) AS seq)
SELECT (SELECT json_agg(json_build_object('type', s.type, 'body', s.body) ORDER BY s.seq) FROM (
    SELECT e.seq, e.type, CASE WHEN e.body ? 'offset' THEN e.body ELSE e.body || '{"text":""}' END AS body FROM job_event e
     WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.type = ANY(${showing}) AND e.seq > (SELECT seq FROM rest)) s) AS events,
  (SELECT json_build_object('type', e.type, 'body', e.body) FROM job_event e
    WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.seq <= (SELECT seq FROM rest)
      AND (e.type = 'round-restarted' OR e.type = 'reasoning-delta' AND e.body ? 'offset')
      AND EXISTS (SELECT 1 FROM round r WHERE r.workspace_id = ${workspaceId}::uuid AND r.job_id = ${jobId}::uuid AND r.reasoning <> '')
    ORDER BY e.seq DESC LIMIT 1) AS thought`;

interface Tail {
  readonly events: readonly NewJobEvent[] | null;
  readonly thought: NewJobEvent | null;
}

/** Reads the text that the log of an unfinished job shows. */
@Injectable()
export class ShownTextsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * For `JobRun.resumeText` of a job with concurrent rounds: what was shown since the job last waited, when no round was open.
   * `contentLength`: of the rounds that are finished.
   */
  async sinceLastWait(job: JobRef & { readonly contentLength: number }): Promise<ShownTexts> {
    const [tail] = await this.prisma.queryInWorkspace<Tail>(job, tailOf(job));
    const events = tail?.events ?? [];
    const before = {
      text: firstOffset(events, 'text-delta') ?? job.contentLength,
      reasoning: firstOffset(events, 'reasoning-delta') ?? reasoningAfter(tail?.thought ?? null),
    };
    return { ...shownTexts(events), before };
  }

  /** The text of the whole log. */
  async read(job: JobRef): Promise<ShownTexts> {
    const rows = await this.prisma.queryInWorkspace<{ type: string; body: unknown }>(job, showsOf(job));
    // Only NewJobEvents are written to the log, so type and body belong together.
    return shownTexts(rows as NewJobEvent[]);
  }
}

function firstOffset(events: readonly NewJobEvent[], type: Delta['type']): number | undefined {
  for (const event of events) if (event.type === type && event.body.offset !== undefined) return event.body.offset;
  return undefined;
}

/** The length of the reasoning after `event`. */
function reasoningAfter(event: NewJobEvent | null): number {
  if (event?.type === 'round-restarted') return event.body.reasoningLength;
  if (event?.type === 'reasoning-delta') return (event.body.offset ?? 0) + event.body.text.length;
  return 0;
}
