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

/** A new row. */
export interface NewFile extends Omit<PlacedFile, 'createdAt'> {
  readonly keptUntil: Date;
}

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
      const lt = new Date(keptUntil.getTime() - 3_600_000);
      await tx.storedFile.updateMany({ where: { ...where, keptUntil: { lt } }, data: { keptUntil } });
      return (await tx.storedFile.findMany({ where })).map(toPlacedFile);
    });
  }

  /** Bytes of all files. */
  async bytesOf(workspaceId: string): Promise<number> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) => sumOf(tx, workspaceId));
  }

  /** `full`: the new file would exceed `mostBytes` of the workspace. `known`: another upload of the same content was first. */
  async insert(file: NewFile, mostBytes: number): Promise<'inserted' | 'known' | 'full'> {
    const { workspaceId } = file;
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // One upload at a time, so that two of them cannot both be the last that fits.
      await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('files of ' || ${workspaceId}, 0))::text`;
      if ((await sumOf(tx, workspaceId)) + file.bytes > mostBytes) return 'full';
      const { count } = await tx.storedFile.createMany({ data: [file], skipDuplicates: true });
      return count === 1 ? 'inserted' : 'known';
    });
  }

  /** Whether the file existed. */
  async delete({ workspaceId, id }: Pick<PlacedFile, 'workspaceId' | 'id'>): Promise<boolean> {
    const { count } = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.storedFile.deleteMany({ where: { workspaceId, id } }),
    );
    return count === 1;
  }

  /** Puts the row of a file back whose content could not be deleted, to be deleted later. Nothing happens if its content was uploaded again. */
  async putBack({ createdAt, ...file }: PlacedFile): Promise<void> {
    const row = { ...file, createdAt: new Date(createdAt), keptUntil: new Date() };
    await this.prisma.withWorkspace(file, (tx) => tx.storedFile.createMany({ data: [row], skipDuplicates: true }));
  }

  /** Deletes and returns up to `limit` rows that are due, and postpones those that a message or an unfinished job refers to until `keptUntil`. */
  async takeExpired(workspaceId: string, limit: number, keptUntil: Date): Promise<PlacedFile[]> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const due = await tx.$queryRaw<DueFile[]>`SELECT f.id, f.hash, EXISTS (
    SELECT 1 FROM message m WHERE m.workspace_id = f.workspace_id AND m.content @> '[{"type": "file"}]'
       AND m.content @> jsonb_build_array(jsonb_build_object('type', 'file', 'file', jsonb_build_object('file_id', f.hash)))) AS used
  FROM stored_file f WHERE f.workspace_id = ${workspaceId}::uuid AND f.kept_until < clock_timestamp()
 ORDER BY f.kept_until LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
      const open = due.every(({ used }) => used) ? new Set<string>() : await hashesOfOpenJobs(tx, workspaceId);
      const idsOf = (isUsed: boolean) =>
        due.filter(({ used, hash }) => (used || open.has(hash)) === isUsed).map(({ id }) => id);
      const of = (ids: string[]) => ({ workspaceId, id: { in: ids } });
      await tx.storedFile.updateMany({ where: of(idsOf(true)), data: { keptUntil } });
      const expired = await tx.storedFile.findMany({ where: of(idsOf(false)) });
      await tx.storedFile.deleteMany({ where: of(expired.map(({ id }) => id)) });
      return expired.map(toPlacedFile);
    });
  }
}

interface DueFile {
  readonly id: string;
  readonly hash: string;
  /** A message refers to it. */
  readonly used: boolean;
}

/**
 * Every text in the inputs of unfinished jobs that can be a hash. The messages of a job that starts later, and the attachments of a workflow,
 * are in its input only. It is read once for all files that are due, and a file in it is due again a day later.
 */
async function hashesOfOpenJobs(tx: PrismaTransaction, workspaceId: string): Promise<ReadonlySet<string>> {
  const rows = await tx.$queryRaw<{ hash: string }[]>`SELECT DISTINCT found.match[1] AS hash
  FROM job j CROSS JOIN LATERAL regexp_matches(j.input::text, '(?:file:|")([0-9a-f]{64})"', 'g') AS found(match)
 WHERE j.workspace_id = ${workspaceId}::uuid AND j.status IN ('queued', 'running', 'waiting')`;
  return new Set(rows.map(({ hash }) => hash));
}

function readable(scope: Scope): Prisma.StoredFileWhereInput {
  return { AND: [scope.where('StoredFile'), { workspaceId: scope.workspaceId }] };
}

async function sumOf(tx: PrismaTransaction, workspaceId: string): Promise<number> {
  return (await tx.storedFile.aggregate({ where: { workspaceId }, _sum: { bytes: true } }))._sum.bytes ?? 0;
}

function toPlacedFile(row: StoredFileRow): PlacedFile {
  return { ...toStoredFile(row), workspaceId: row.workspaceId, store: row.store };
}

function toStoredFile({ id, hash, mime, bytes, name, createdBy, createdAt }: StoredFileRow): StoredFile {
  return { id, hash, mime, bytes, name, createdBy, createdAt: createdAt.getTime() };
}
