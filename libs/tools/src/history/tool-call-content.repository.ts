import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

/** All stored content of a call, with a part of its result. */
export interface ToolCallContent {
  /** The user who started the job. */
  readonly createdBy: string | null;
  readonly proposedArguments: string;
  /** The approved arguments; null: no approval was requested. */
  readonly approvedArguments: string | null;
  /** The arguments that the tool received; null: it never started. */
  readonly executedArguments: string | null;
  /** Null: the call has no result. */
  readonly result: ResultPart | null;
}

/** A part of a text. Positions count characters (Unicode code points). */
export interface ResultPart {
  readonly text: string;
  readonly offset: number;
  /** Where the next page starts; null: this was the last page. */
  readonly nextOffset: number | null;
  readonly totalCharacters: number;
}

interface Row extends Omit<ToolCallContent, 'result'> {
  readonly text: string | null;
  readonly length: number | null;
  readonly total: number | null;
}

/** Reads the complete content of single calls. The caller has checked the rights. */
@Injectable()
export class ToolCallContentRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** `part`: of the result, in characters. Null: the call does not exist. */
  async find(
    workspaceId: string,
    id: string,
    part: { readonly offset: number; readonly length: number },
  ): Promise<ToolCallContent | null> {
    const [row] = await this.prisma.queryInWorkspace<Row>(
      { workspaceId },
      Prisma.sql`SELECT t.created_by AS "createdBy", t.arguments AS "proposedArguments", t.approved_arguments AS "approvedArguments",
    coalesce(t.executed_arguments, CASE WHEN t.started_at IS NOT NULL THEN coalesce(t.approved_arguments, t.arguments) END)
      AS "executedArguments",
    substr(r.text, ${part.offset}::int + 1, ${part.length}::int) AS text, char_length(substr(r.text, ${part.offset}::int + 1, ${part.length}::int)) AS length, char_length(r.text) AS total
  FROM tool_call t LEFT JOIN tool_output o ON o.workspace_id = t.workspace_id AND o.tool_call_id = t.id
 CROSS JOIN LATERAL (SELECT coalesce(o.text, t.result) AS text) r
 WHERE t.workspace_id = ${workspaceId}::uuid AND t.id = ${id}::uuid`,
    );
    if (row === undefined) return null;
    const { text, length, total, ...rest } = row;
    if (text === null || length === null || total === null) return { ...rest, result: null };
    const end = part.offset + length;
    const nextOffset = end < total && length > 0 ? end : null;
    return { ...rest, result: { text, offset: part.offset, nextOffset, totalCharacters: total } };
  }
}
