import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import type { TextPart } from './page-of.js';
import { MOST_KEPT_BYTES } from './to-kept-result.js';

/** Who reads: a job at work, which sees its own calls and those of its thread. */
export interface OutputReader {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
}

/** A part of a text, in UTF-16 code units. */
export interface OutputRange {
  readonly offset: number;
  readonly length: number;
}

/** Beyond every text that is kept. */
const FARTHEST = MOST_KEPT_BYTES;

const resultsOf = (
  { workspaceId }: OutputReader,
  callId: string,
  isWanted: Prisma.Sql,
) => Prisma.sql`SELECT coalesce(o.text, c.result) AS text
    FROM tool_call c LEFT JOIN tool_output o ON o.workspace_id = c.workspace_id AND o.tool_call_id = c.id
   WHERE c.workspace_id = ${workspaceId}::uuid AND ${isWanted} AND c.call_id = ${callId} AND coalesce(o.text, c.result) IS NOT NULL`;

/**
 * The job's own call first, since ids of models repeat from job to job; each branch in the order of its index, the second of
 * which holds settled calls only. Offsets count UTF-16 code units and Postgres counts characters: a character that is two
 * units gets a space behind it, which makes the counts equal, and the part is cut here so that no whole text is sent.
 */
function partOf(
  reader: OutputReader,
  callId: string,
  { from, length }: { readonly from: number; readonly length: number },
) {
  const ofThread = Prisma.sql`c.thread_id = ${reader.threadId}::uuid AND c.status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')`;
  return Prisma.sql`WITH found AS (
  (SELECT 1 AS place, own.text FROM (${resultsOf(reader, callId, Prisma.sql`c.job_id = ${reader.jobId}::uuid`)} ORDER BY c.round DESC, c.ordinal DESC LIMIT 1) AS own)
  UNION ALL
  (SELECT 2, near.text FROM (${resultsOf(reader, callId, ofThread)} ORDER BY c.id DESC LIMIT 1) AS near)
), chosen AS (SELECT text FROM found ORDER BY place LIMIT 1),
units AS (SELECT CASE WHEN octet_length(text) = char_length(text) THEN text
    ELSE regexp_replace(text, '([\\U00010000-\\U0010FFFF])', '\\1 ', 'g') END AS text FROM chosen OFFSET 0)
SELECT substr(text, ${from}::int + 1, ${length}::int) AS part, char_length(text) AS total FROM units`;
}

/** Results that were too large for their row in the ledger. */
@Injectable()
export class ToolOutputsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * A part of the result of a call, by the id the model knows it by, with a unit more at either end: who cuts a page sees there
   * whether it would cut a character. Null: no such call there, or none with a result.
   */
  async read(reader: OutputReader, callId: string, { offset, length }: OutputRange): Promise<TextPart | null> {
    const from = Math.min(Math.max(0, offset - 1), FARTHEST);
    const [row] = await this.prisma.queryInWorkspace<{ part: string; total: number }>(
      reader,
      partOf(reader, callId, { from, length: Math.min(length, FARTHEST) + 2 }),
    );
    return row === undefined ? null : { text: row.part.replaceAll(PAIR, '$1'), from, total: row.total };
  }

  /** Keeps the whole text of a result, for those who settle a call in a transaction of their own. */
  async keep(
    tx: PrismaTransaction,
    call: { readonly workspaceId: string; readonly jobId: string; readonly id: string },
    whole: string,
  ): Promise<void> {
    const { workspaceId, jobId, id: toolCallId } = call;
    const output = { workspaceId, toolCallId, jobId, text: whole, bytes: Buffer.byteLength(whole) };
    await tx.toolOutput.createMany({ data: [output] });
  }
}

/** A character of two units and the space behind it. */
const PAIR = /([\u{10000}-\u{10ffff}]) /gu;
