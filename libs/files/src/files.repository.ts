import { Injectable } from '@nestjs/common';

import {
  type Page,
  type PageRequest,
  Prisma,
  PrismaService,
  type PrismaTransaction,
  type Scope,
  type StoredFileRow,
} from '#platform';

import type { StoredFile } from './stored-file.js';

/** A file with the store of its content. */
export interface PlacedFile extends StoredFile {
  readonly workspaceId: string;
  readonly store: string;
}

/** A file as a tool process reads it. */
export type NamedFile = Pick<PlacedFile, 'workspaceId' | 'id' | 'hash' | 'mime' | 'bytes' | 'name' | 'store'>;

const namedColumns = {
  workspaceId: true,
  id: true,
  hash: true,
  mime: true,
  bytes: true,
  name: true,
  store: true,
} as const;

/** A new row. */
export interface NewFile extends Omit<PlacedFile, 'createdAt'> {
  readonly keptUntil: Date;
}

/** What a file counts at least, since its row and its pages take space too. It bounds the number of files of a workspace. */
export const leastBytes = 4_096;
/** Much longer than a store may take for the content of an upload. */
const abandonedAfterMs = 3_600_000;

/** The rows of files. */
@Injectable()
export class FilesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Newest first. */
  async list(scope: Scope, { first, after }: PageRequest): Promise<Page<StoredFile>> {
    const where = { AND: [readable(scope), after === undefined ? {} : { id: { lt: after } }] };
    const rows = await this.prisma.withWorkspace(scope, (tx) =>
      tx.storedFile.findMany({ where, orderBy: { id: 'desc' }, take: first + 1 }),
    );
    return { items: rows.slice(0, first).map(toStoredFile), hasMore: rows.length > first };
  }

  /** Null: absent, or not readable. */
  async find(scope: Scope, hash: string): Promise<PlacedFile | null> {
    const row = await this.prisma.withWorkspace(scope, (tx) =>
      tx.storedFile.findFirst({ where: { AND: [readable(scope), { hash }] } }),
    );
    return row === null ? null : toPlacedFile(row);
  }

  /** The files of the workspace with these hashes, for its jobs. Marks them as used until `keptUntil`. */
  async use(workspaceId: string, hashes: readonly string[], keptUntil: Date): Promise<PlacedFile[]> {
    if (hashes.length === 0) return [];
    const where = { workspaceId, hash: { in: [...hashes] } };
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // A conversation uses its files in every round: a write each hour is enough.
      const lt = new Date(keptUntil.getTime() - Math.min(3_600_000, (keptUntil.getTime() - Date.now()) / 4));
      await tx.storedFile.updateMany({ where: { ...where, keptUntil: { lt } }, data: { keptUntil } });
      return (await tx.storedFile.findMany({ where })).map(toPlacedFile);
    });
  }

  /** For a tool process: its database role can read only these columns, of the files that its calls name. Null: no such file. */
  findNamed(workspaceId: string, hash: string): Promise<NamedFile | null> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.storedFile.findFirst({ where: { workspaceId, hash }, select: namedColumns }),
    );
  }

  /** Bytes that all files count. */
  async bytesOf(workspaceId: string): Promise<number> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) => sumOf(tx, workspaceId));
  }

  /** Before the content of an upload is written: the retention deletes it unless `insert` stores the row of the file by then. */
  async announce({ workspaceId, id: fileId, store }: Removal): Promise<void> {
    const dueAt = new Date(Date.now() + abandonedAfterMs);
    await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.contentRemoval.create({ data: { workspaceId, fileId, store, uploading: true, dueAt } }),
    );
  }

  /**
   * Stores the row of an announced content, or puts the content in place of that of the row `lost`. `full`: the new file would exceed
   * `maxBytes` of the workspace. `changed`: another upload of this content or its removal committed first, or the retention is deleting it.
   */
  async insert(file: NewFile, { maxBytes, lost }: InsertOptions): Promise<'inserted' | 'changed' | 'full'> {
    const { workspaceId, id, hash, store, keptUntil } = file;
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // One upload at a time, so that two of them cannot both be the last that fits.
      await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('files of ' || ${workspaceId}, 0))::text`;
      const [known] = await tx.$queryRaw<Removal[]>`SELECT workspace_id AS "workspaceId", id, store FROM stored_file
        WHERE workspace_id = ${workspaceId}::uuid AND hash = ${hash} FOR UPDATE`;
      if (known?.id !== lost?.id) return 'changed';
      if (known === undefined && (await sumOf(tx, workspaceId)) + Math.max(file.bytes, leastBytes) > maxBytes)
        return 'full';
      const { count } = await tx.contentRemoval.deleteMany({ where: { workspaceId, fileId: id, uploading: true } });
      if (count === 0) return 'changed';
      if (known === undefined) {
        await tx.storedFile.create({ data: file });
      } else {
        await tx.storedFile.updateMany({ where: { workspaceId, id: known.id }, data: { id, store, keptUntil } });
        // A job may be about to read it: its store may have failed to show a content that it has.
        const dueAt = new Date(Date.now() + abandonedAfterMs);
        await tx.contentRemoval.create({ data: { ...toRemoval(known), dueAt } });
      }
      return 'inserted';
    });
  }

  /** Replaces the row of a file by the removal of its content. Returns whether the file existed. */
  async remove(file: Removal): Promise<boolean> {
    const { workspaceId, id } = file;
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const { count } = await tx.storedFile.deleteMany({ where: { workspaceId, id } });
      if (count === 1) await tx.contentRemoval.create({ data: toRemoval(file) });
      return count === 1;
    });
  }

  /**
   * Looks at up to `limit` files that are due. Postpones those that something refers to until `keptUntil`, and replaces the rows of the others
   * by removals of their contents. Returns how many were due. The rows are locked, so that a use of a file either postpones it before this
   * looks at it, or finds no file.
   */
  async expire(
    workspaceId: string,
    { limit, keptUntil }: { readonly limit: number; readonly keptUntil: Date },
  ): Promise<number> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const due = await tx.$queryRaw<
        (Removal & { hash: string })[]
      >`SELECT workspace_id AS "workspaceId", id, store, hash
        FROM stored_file WHERE workspace_id = ${workspaceId}::uuid AND kept_until < ${new Date()} ORDER BY kept_until
        LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
      if (due.length === 0) return 0;
      const used = new Set(
        await usedHashes(
          tx,
          workspaceId,
          due.map(({ hash }) => hash),
        ),
      );
      const kept = due.filter(({ hash }) => used.has(hash)).map(({ id }) => id);
      const expired = due.filter(({ hash }) => !used.has(hash));
      await tx.storedFile.updateMany({ where: { workspaceId, id: { in: kept } }, data: { keptUntil } });
      await tx.storedFile.deleteMany({ where: { workspaceId, id: { in: expired.map(({ id }) => id) } } });
      await tx.contentRemoval.createMany({ data: expired.map(toRemoval) });
      return due.length;
    });
  }

  /** Up to `limit` contents that are due for removal, in stores other than `except`. Their uploads cannot store the row of a file any more. */
  async dueRemovals(
    workspaceId: string,
    { limit, except }: { readonly limit: number; readonly except: readonly string[] },
  ): Promise<Removal[]> {
    return this.prisma.withWorkspace(
      { workspaceId },
      (tx) => tx.$queryRaw<
        Removal[]
      >`UPDATE content_removal SET uploading = false WHERE workspace_id = ${workspaceId}::uuid AND file_id IN (
          SELECT file_id FROM content_removal WHERE workspace_id = ${workspaceId}::uuid AND due_at < ${new Date()}
             AND store <> ALL(${[...except]}::text[]) ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING workspace_id AS "workspaceId", file_id AS id, store`,
    );
  }

  /** After its store did not delete the content. */
  async putOffRemoval({ workspaceId, id: fileId }: Removal, dueAt: Date): Promise<void> {
    await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.contentRemoval.updateMany({ where: { workspaceId, fileId }, data: { dueAt } }),
    );
  }

  /** After the content was deleted from its store. */
  async endRemoval({ workspaceId, id: fileId }: Removal): Promise<void> {
    await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.contentRemoval.deleteMany({ where: { workspaceId, fileId } }),
    );
  }
}

/** A content that is to be deleted from its store. */
export type Removal = Pick<PlacedFile, 'workspaceId' | 'id' | 'store'>;

interface InsertOptions {
  readonly maxBytes: number;
  /** The row whose content is lost; undefined: there is no row with this hash. */
  readonly lost: Removal | undefined;
}

function toRemoval({ workspaceId, id: fileId, store }: Removal) {
  return { workspaceId, fileId, store, dueAt: new Date() };
}

/** The hashes in a JSON column that has no computed ones. */
const hashesIn = (column: string) =>
  `ARRAY(SELECT m.match[1] FROM regexp_matches(${column}::text, '(?:file:|")([0-9a-f]{64})"', 'g') AS m(match))`;

/**
 * Those of the hashes that something refers to: a message, or the input of an unfinished job, of a schedule, or of a trigger run that has not
 * started a job, whose messages are not written yet. One statement sees one moment: a job that begins writes its messages. Inputs, which can
 * have many MiB, are read only if their hashes are not computed, and in schedules, which are few and short.
 */
async function usedHashes(
  tx: PrismaTransaction,
  workspaceId: string,
  hashes: readonly string[],
): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ hash: string }[]>`SELECT hash FROM files_in_messages(${hashes}::text[]) AS hash
  UNION
  SELECT found.hash FROM (
    SELECT coalesce(file_hashes, ${Prisma.raw(hashesIn('input'))}) AS hashes FROM job
     WHERE workspace_id = ${workspaceId}::uuid AND status IN ('queued', 'running', 'waiting')
    UNION ALL
    SELECT ${Prisma.raw(hashesIn('chat'))} FROM workflow_schedule WHERE workspace_id = ${workspaceId}::uuid AND chat IS NOT NULL
    UNION ALL
    SELECT coalesce(file_hashes, ${Prisma.raw(hashesIn('event'))}) FROM trigger_run
     WHERE workspace_id = ${workspaceId}::uuid AND status = 'due') AS waiting
   CROSS JOIN LATERAL unnest(waiting.hashes) AS found(hash) WHERE found.hash = ANY(${hashes}::text[])`;
  return rows.map(({ hash }) => hash);
}

function readable(scope: Scope): Prisma.StoredFileWhereInput {
  return { AND: [scope.where('StoredFile'), { workspaceId: scope.workspaceId }] };
}

async function sumOf(tx: PrismaTransaction, workspaceId: string): Promise<number> {
  const [row] = await tx.$queryRaw<
    { sum: number }[]
  >`SELECT coalesce(sum(greatest(bytes, ${leastBytes}::int)), 0)::float8 AS sum
    FROM stored_file WHERE workspace_id = ${workspaceId}::uuid`;
  return row?.sum ?? 0;
}

function toPlacedFile(row: StoredFileRow): PlacedFile {
  return { ...toStoredFile(row), workspaceId: row.workspaceId, store: row.store };
}

function toStoredFile({ id, hash, mime, bytes, name, createdBy, createdAt }: StoredFileRow): StoredFile {
  return { id, hash, mime, bytes, name, createdBy, createdAt: createdAt.getTime() };
}
