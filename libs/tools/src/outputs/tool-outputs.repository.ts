import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import { MAX_KEPT_BYTES } from '../to-kept-result.js';
import type { TextPart } from './page-of.js';

/** The running job that reads. It sees its own calls and those of its thread. */
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

/** An offset after the end of every stored text. */
const FARTHEST = MAX_KEPT_BYTES;

const resultsOf = (
  { workspaceId }: OutputReader,
  callId: string,
  isWanted: Prisma.Sql,
) => Prisma.sql`SELECT coalesce(o.text, c.result) AS text
    FROM tool_call c LEFT JOIN tool_output o ON o.workspace_id = c.workspace_id AND o.tool_call_id = c.id
   WHERE c.workspace_id = ${workspaceId}::uuid AND ${isWanted} AND c.call_id = ${callId} AND coalesce(o.text, c.result) IS NOT NULL`;

/**
 * Finds the job's own call first, because models repeat call ids in other jobs. Each branch reads in the order of its index; the index of the
 * second branch contains only settled calls. Offsets count UTF-16 code units, but Postgres counts characters: a space after each character of
 * two code units makes the counts equal. The database cuts the part, so the complete text is never transferred.
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

/** Stores results that are too large for their row in the ledger. */
@Injectable()
export class ToolOutputsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Reads a part of the result of a call by the id that the model uses, with one more code unit at each end, so that the caller can see
   * whether a page would split a character. Returns null if the call does not exist or has no result.
   */
  async read(reader: OutputReader, callId: string, { offset, length }: OutputRange): Promise<TextPart | null> {
    const from = Math.min(Math.max(0, offset - 1), FARTHEST);
    const [row] = await this.prisma.queryInWorkspace<{ part: string; total: number }>(
      reader,
      partOf(reader, callId, { from, length: Math.min(length, FARTHEST) + 2 }),
    );
    return row === undefined ? null : { text: row.part.replaceAll(PAIR, '$1'), from, total: row.total };
  }

  /** Stores the complete text of a result, for callers that settle a call in their own transaction. */
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

/** A character of two code units and the space after it. */
const PAIR = /([\u{10000}-\u{10ffff}]) /gu;
