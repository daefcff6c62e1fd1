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

  /** `full`: the new file would exceed `mostBytes` of the workspace. `known`: another upload of the same content was first. */
  async insert(file: NewFile, mostBytes: number): Promise<'inserted' | 'known' | 'full'> {
    const { workspaceId } = file;
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // One upload at a time, so that two of them cannot both be the last that fits.
      await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('files of ' || ${workspaceId}, 0))::text`;
      if ((await sumOf(tx, workspaceId)) + Math.max(file.bytes, leastBytes) > mostBytes) return 'full';
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

  /**
   * Looks at up to `limit` files that are due and not in the stores `except`, and postpones those that something refers to until `keptUntil`.
   * Returns the others, which nothing refers to, and how many were due.
   */
  async findExpired(workspaceId: string, { limit, except, keptUntil }: ExpirySearch): Promise<Expiry> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const where = { workspaceId, keptUntil: { lt: new Date() }, store: { notIn: [...except] } };
      const due = await tx.storedFile.findMany({ where, orderBy: { keptUntil: 'asc' }, take: limit });
      if (due.length === 0) return { due: 0, expired: [] };
      const used = new Set([...(await hashesInMessages(tx, due)), ...(await hashesOfWaiting(tx, workspaceId))]);
      const ids = due.filter(({ hash }) => used.has(hash)).map(({ id }) => id);
      await tx.storedFile.updateMany({ where: { workspaceId, id: { in: ids } }, data: { keptUntil } });
      return { due: due.length, expired: due.filter(({ hash }) => !used.has(hash)).map(toPlacedFile) };
    });
  }

  /** Whether nothing has used the file since it was found. */
  async isExpired({ workspaceId, id }: PlacedFile): Promise<boolean> {
    const where = { workspaceId, id, keptUntil: { lt: new Date() } };
    return (await this.prisma.withWorkspace({ workspaceId }, (tx) => tx.storedFile.count({ where }))) === 1;
  }
}

interface ExpirySearch {
  readonly limit: number;
  readonly except: readonly string[];
  readonly keptUntil: Date;
}

/** What a search for expired files has found. */
interface Expiry {
  readonly due: number;
  readonly expired: readonly PlacedFile[];
}

/** Those of the files that a message refers to. */
async function hashesInMessages(tx: PrismaTransaction, files: readonly StoredFileRow[]): Promise<readonly string[]> {
  const hashes = files.map(({ hash }) => hash);
  const rows = await tx.$queryRaw<{ hash: string }[]>`SELECT hash FROM files_in_messages(${hashes}::text[]) AS hash`;
  return rows.map(({ hash }) => hash);
}

/**
 * Every text that can be a hash in the inputs of unfinished jobs, of schedules, and of trigger runs that have not started a job: no message has it
 * yet. It is read once for all files that are due, which is rare: a file in it is due again after the retention time.
 */
async function hashesOfWaiting(tx: PrismaTransaction, workspaceId: string): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ hash: string }[]>`SELECT DISTINCT found.match[1] AS hash FROM (
  SELECT input::text AS text FROM job WHERE workspace_id = ${workspaceId}::uuid AND status IN ('queued', 'running', 'waiting')
  UNION ALL
  SELECT chat::text FROM workflow_schedule WHERE workspace_id = ${workspaceId}::uuid AND chat IS NOT NULL
  UNION ALL
  SELECT event::text FROM trigger_run WHERE workspace_id = ${workspaceId}::uuid AND status = 'due') AS waiting
 CROSS JOIN LATERAL regexp_matches(waiting.text, '(?:file:|")([0-9a-f]{64})"', 'g') AS found(match)`;
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
