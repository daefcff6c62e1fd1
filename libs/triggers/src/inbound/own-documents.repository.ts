import { Injectable } from '@nestjs/common';

import { AppError, Prisma, PrismaService, type PrismaTransaction, type Scope } from '#platform';

import type { OwnKind } from './own-kinds.js';

/** A document of an own row. */
export interface OwnDocument {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The rows of one thread. */
export interface OwnCollection {
  readonly workspaceId: string;
  readonly threadId: string;
  readonly kind: OwnKind;
}

export const filterOperators = ['==', '!=', '<', '<=', '>', '>='] as const;

export interface DocumentFilter {
  readonly field: string;
  readonly op: (typeof filterOperators)[number];
  readonly value: unknown;
}

/** The position of a document in its collection: ms since the epoch, and a key that orders documents of the same ms. */
export type DocumentPosition = readonly [at: number, tie: string];

export interface DocumentQuery {
  readonly filters: readonly DocumentFilter[];
  readonly isDescending: boolean;
  readonly after: DocumentPosition | null;
  readonly take: number;
}

export interface PositionedDocument {
  readonly document: OwnDocument;
  readonly at: number;
  readonly tie: string;
  /** Whether the query found a document after this one. */
  readonly hasMore: boolean;
}

/** Bytes of the documents of one response, as JSON. */
const maxBytes = 8_388_608;

/** Rows that have ended, whose documents are therefore complete. */
const isEnded = Prisma.sql`j.status IN ('completed', 'failed', 'cancelled')`;

/** Reads own rows as the documents that triggers see. */
@Injectable()
export class OwnDocumentsRepository {
  constructor(private readonly prisma: PrismaService) {}

  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  async hasThread(tx: PrismaTransaction, scope: Scope, id: string): Promise<boolean> {
    const where = { AND: [scope.where('Thread'), { workspaceId: scope.workspaceId, id }] };
    return (await tx.thread.count({ where })) > 0;
  }

  /** Ordered by the time of their creation; fewer than `take` where they are too large. */
  query(
    tx: PrismaTransaction,
    collection: OwnCollection,
    { filters, isDescending, after, take }: DocumentQuery,
  ): Promise<PositionedDocument[]> {
    const order = isDescending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
    const beyond =
      after === null
        ? Prisma.sql`true`
        : Prisma.sql`(at, tie) ${isDescending ? Prisma.sql`<` : Prisma.sql`>`} (${after[0]}::bigint, ${after[1]}::text)`;
    const inOrder = Prisma.sql`ORDER BY at ${order}, tie ${order}`;
    // The page always contains the first document, whatever its size, so that the next page begins after it.
    return tx.$queryRaw<PositionedDocument[]>`
      SELECT document, at::float8 AS at, tie, (n < found) AS "hasMore" FROM (
        SELECT p.*, row_number() OVER (${inOrder}) AS n, count(*) OVER () AS found,
            sum(octet_length(document::text)) OVER (${inOrder} ROWS UNBOUNDED PRECEDING) AS bytes
          FROM (SELECT document, at, tie FROM (${rowsOf(collection)}) d
            WHERE ${Prisma.join([beyond, ...filters.map(conditionOf)], ' AND ')} ${inOrder} LIMIT ${take}) p) q
       WHERE bytes <= ${maxBytes} OR n = 1 ${inOrder}`;
  }

  /** Throws `too_large`. */
  async get(tx: PrismaTransaction, collection: OwnCollection, ids: readonly string[]): Promise<OwnDocument[]> {
    const rows = await tx.$queryRaw<{ document: OwnDocument | null }[]>`
      SELECT CASE WHEN sum(octet_length(document::text)) OVER () <= ${maxBytes} THEN document END AS document
        FROM (${rowsOf(collection)}) d WHERE id = ANY(${[...ids]}::uuid[])`;
    return rows.map(({ document }) => {
      if (document === null) throw tooLarge();
      return document;
    });
  }
}

function rowsOf({ workspaceId, threadId, kind }: OwnCollection): Prisma.Sql {
  const ofThread = (row: Prisma.Sql) =>
    Prisma.sql`${row}.workspace_id = ${workspaceId}::uuid AND ${row}.thread_id = ${threadId}::uuid`;
  const job = (id: Prisma.Sql) => Prisma.sql`LEFT JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.id = ${id}`;
  if (kind === 'jobs')
    return Prisma.sql`SELECT j.id, own_instant(j.created_at) AS at, j.id::text AS tie,
        own_job(j) || jsonb_build_object('id', j.id) AS document FROM job j WHERE ${ofThread(Prisma.sql`j`)}`;
  if (kind === 'tool-calls')
    return Prisma.sql`SELECT c.id, own_instant(c.created_at) AS at, c.id::text AS tie, own_call(c,
        CASE WHEN c.status = 'interrupted' AND ${isEnded} THEN 'failed' ELSE own_call_status(c.status) END) || jsonb_build_object('id', c.id) AS document
      FROM tool_call c ${job(Prisma.sql`c.job_id`)} WHERE ${ofThread(Prisma.sql`c`)}`;
  // The messages of a request enter the thread with the row of the response, which names their job.
  return Prisma.sql`SELECT m.id, own_instant(CASE WHEN m.content IS NULL THEN j.finished_at ELSE m.created_at END) AS at,
      lpad(m.position::text, 10, '0') AS tie,
      CASE WHEN m.content IS NULL THEN own_response(m, j.finished_at) ELSE own_request(m, coalesce(m.said_to_job_id, (
        SELECT l.job_id FROM (SELECT n.job_id, n.created_at FROM message n WHERE ${ofThread(Prisma.sql`n`)} AND n.position > m.position
          ORDER BY n.position LIMIT 100) l WHERE l.job_id IS NOT NULL AND l.created_at = m.created_at LIMIT 1))) END
        || jsonb_build_object('id', m.id) AS document
    FROM message m ${job(Prisma.sql`m.job_id`)} WHERE ${ofThread(Prisma.sql`m`)} AND (m.content IS NOT NULL OR ${isEnded})`;
}

const operators: Readonly<Record<DocumentFilter['op'], Prisma.Sql>> = {
  '==': Prisma.sql`=`,
  '!=': Prisma.sql`<>`,
  '<': Prisma.sql`<`,
  '<=': Prisma.sql`<=`,
  '>': Prisma.sql`>`,
  '>=': Prisma.sql`>=`,
};

/** Values are compared within their type; an absent field is null. */
function conditionOf({ field, op, value }: DocumentFilter): Prisma.Sql {
  const [left, right] = [
    Prisma.sql`coalesce(document->${field}::text, 'null')`,
    Prisma.sql`${JSON.stringify(value)}::jsonb`,
  ];
  const isOrder = op !== '==' && op !== '!=';
  const sameType = isOrder ? Prisma.sql`jsonb_typeof(${left}) = jsonb_typeof(${right}) AND ` : Prisma.empty;
  return Prisma.sql`(${sameType}${left} ${operators[op]} ${right})`;
}

function tooLarge(): AppError {
  const message = `The documents are larger than ${maxBytes} bytes together. Read fewer of them in one request.`;
  return new AppError({ code: 'too_large', message, field: 'paths' });
}
