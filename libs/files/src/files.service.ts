import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  AppError,
  type Clock,
  Config,
  crashpoint,
  newId,
  type Page,
  type PageRequest,
  runParts,
  systemClock,
  TimedCache,
} from '#platform';

import { typeProblem } from './file-type.js';
import { emptyFile, fileTooLarge, typeMismatch, typeNotAllowed, workspaceFull } from './files.errors.js';
import { FilesRepository, leastBytes, type NamedFile, type PlacedFile, type Removal } from './files.repository.js';
import { fileNotFound } from './store/file-store.errors.js';
import type { ByteRange } from './store/file-store.js';
import { FileStores } from './store/file-stores.js';
import { PostgresFileStore } from './store/postgres-file-store.repository.js';
import { hashOf, isFileHash, type StoredFile } from './stored-file.js';

/** A file to be stored. */
export interface NewContent {
  readonly workspaceId: string;
  /** The user whose file it is. */
  readonly createdBy: string | null;
  readonly content: Uint8Array;
  /** SHA-256 of the content in hex, if the caller has computed it. */
  readonly hash?: string;
  readonly mime: string;
  readonly name: string | null;
}

const sumFreshMs = 1_000;
/** Rows that the retention handles at once. */
const batch = 50;
/** How long a store that did not respond gets no deletions. */
const awayMs = 600_000;
/** How long a content stays that its store did not delete. Longer than `awayMs`, so that contents of other workspaces come first. */
const putOffMs = 3_600_000;

/** The files of workspaces: one row for each content of a workspace, and the content in a store. */
@Injectable()
export class Files {
  /** Tests replace it. */
  clock: Clock = systemClock;
  /**
   * Caches the stored bytes of each workspace, so that an upload to a full workspace is refused before its content is written. The insert
   * checks the limit again.
   */
  private readonly sums = new TimedCache<number>({ clock: systemClock, ttlMs: sumFreshMs, max: 1_000 });
  /** By store, by the monotonic clock. */
  private readonly awayUntil = new Map<string, number>();

  constructor(
    private readonly files: FilesRepository,
    private readonly stores: FileStores,
    private readonly postgres: PostgresFileStore,
    private readonly config: Config,
  ) {}

  /** Throws `unsupported_media_type` if the server does not accept files of this type. */
  assertAllowed(mime: string): void {
    const { FILE_TYPES } = this.config.values;
    if (!FILE_TYPES.includes(mime)) throw typeNotAllowed(FILE_TYPES);
  }

  /** Throws `bad_request` (empty), `too_large`, `unsupported_media_type`. */
  assertStorable(mime: string, content: Uint8Array): void {
    const { MAX_FILE_BYTES } = this.config.values;
    this.assertAllowed(mime);
    if (content.length === 0) throw emptyFile();
    if (content.length > MAX_FILE_BYTES) throw fileTooLarge(MAX_FILE_BYTES);
    const problem = typeProblem(mime, content);
    if (problem !== null) throw typeMismatch(problem);
  }

  /**
   * Stores the content, or finds the file that has it. Throws `bad_request` (empty), `too_large`, `unsupported_media_type`,
   * `limit_reached`, `unavailable`.
   */
  async save({ workspaceId, createdBy, content, hash: known, mime, name }: NewContent): Promise<StoredFile> {
    const { FILE_BYTES_PER_WORKSPACE: maxBytes } = this.config.values;
    this.assertStorable(mime, content);
    const hash = known ?? hashOf(content);
    const [found] = await this.use(workspaceId, [hash]);
    if (found !== undefined && (await this.hasContent(found))) return found;
    const bytes = content.length;
    if (found === undefined) {
      const total = await this.sums.get(workspaceId, () => this.files.bytesOf(workspaceId));
      if (total > maxBytes - Math.max(bytes, leastBytes)) throw workspaceFull(maxBytes);
    }
    const store = this.stores.current;
    const file = { workspaceId, id: newId(), hash, mime, bytes, name, store, createdBy };
    await this.files.announce(file);
    await this.stores.of(store).put(file, { content, hash });
    crashpoint('before-file-row');
    const outcome = await this.files.insert({ ...file, keptUntil: this.keptUntil() }, { maxBytes, lost: found });
    if (outcome === 'inserted') return found ? { ...found, id: file.id } : { ...file, createdAt: systemClock.now() };
    await this.deleteContent(file);
    if (outcome === 'full') throw workspaceFull(maxBytes);
    return this.save({ workspaceId, createdBy, content, hash, mime, name });
  }

  /** Throws `not_found`. */
  async get(principal: MemberPrincipal, hash: string): Promise<PlacedFile> {
    const file = isFileHash(hash) ? await this.files.find(scopeOf(principal), hash) : null;
    if (file === null) throw fileNotFound();
    return file;
  }

  list(principal: MemberPrincipal, page: PageRequest): Promise<Page<StoredFile>> {
    return this.files.list(scopeOf(principal), page);
  }

  /**
   * Messages that refer to it keep the reference: models then read that the file was removed. If its store does not respond, the retention
   * deletes the content later. Throws `not_found`, `forbidden`.
   */
  async remove(principal: MemberPrincipal, hash: string): Promise<StoredFile> {
    const file = await this.get(principal, hash);
    assertCan(abilityOf(principal), { action: 'delete', subject: 'StoredFile', row: file });
    if (!(await this.files.remove(file))) throw fileNotFound();
    this.sums.forget(file.workspaceId);
    await this.deleteContent(file);
    return file;
  }

  /** The files of these hashes that the workspace has, for its jobs, whose right to read was checked when they started. */
  use(workspaceId: string, hashes: readonly string[]): Promise<readonly PlacedFile[]> {
    return this.files.use(workspaceId, hashes.filter(isFileHash), this.keptUntil());
  }

  /** Like `use`, for one file in a tool process. It can read only files that the arguments of its calls name, and marks none as used. */
  async named(workspaceId: string, hash: string): Promise<NamedFile | null> {
    return isFileHash(hash) ? this.files.findNamed(workspaceId, hash) : null;
  }

  /** The content of a file, or a part of it. Throws `not_found` (removed meanwhile), `unavailable`. */
  read(file: NamedFile, range: ByteRange = { start: 0, end: file.bytes }): Promise<Uint8Array> {
    return this.stores.of(file.store).read(file, range);
  }

  /**
   * For the retention: removes files that nothing refers to and whose retention time is over, and deletes the contents of removed files and of
   * uploads that never stored the row of their file. Returns how many it looked at. The contents in a store that does not respond are deleted
   * in a later pass.
   */
  async deleteExpired(workspaceId: string): Promise<number> {
    const due = await this.files.expire(workspaceId, { limit: batch, keptUntil: this.keptUntil() });
    const contents = await this.files.dueRemovals(workspaceId, { limit: batch, except: this.awayStores() });
    await runParts(...contents.map((content) => () => this.deleteContent(content)), () =>
      this.postgres.deleteAbandoned(workspaceId, systemClock.now()),
    );
    return Math.max(due, contents.length);
  }

  /** The removal of the content is stored: if its store does not respond, a later pass of the retention tries again. */
  private async deleteContent(content: Removal): Promise<void> {
    if (this.awayStores().includes(content.store)) return;
    try {
      await this.stores.of(content.store).delete(content);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.awayUntil.set(content.store, this.clock.monotonic() + awayMs);
      await this.files.putOffRemoval(content, new Date(systemClock.now() + putOffMs));
      return;
    }
    await this.files.endRemoval(content);
  }

  /** Stores that have not responded to a deletion a short time ago: each request to them may take 30 s. */
  private awayStores(): string[] {
    return [...this.awayUntil].filter(([, until]) => until > this.clock.monotonic()).map(([store]) => store);
  }

  /** False also if the store does not respond: then the upload writes the content, or fails. */
  private async hasContent(file: PlacedFile): Promise<boolean> {
    try {
      return await this.stores.of(file.store).has(file);
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  }

  private keptUntil(): Date {
    return new Date(systemClock.now() + this.config.values.FILE_RETENTION_MS);
  }
}
