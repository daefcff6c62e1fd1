import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { JobTelemetry } from '#jobs';
import { AppError, Config, hasTerminal, newId, PrismaService, type PrismaTransaction } from '#platform';
import { canonicalJson, lockWorkspace } from '#tools';

import { WebhookClient } from '../outbound/webhook-client.js';
import { ownDatabases, ownDatabasesOf } from './changes.service.js';
import { FileWorkspacesRepository } from './file-workspaces.repository.js';
import { ownKindsOf } from './own-kinds.js';
import type { TriggerDefinition } from './trigger-definition.js';
import { parseTriggerFiles, readTriggerFiles, TriggerFileError } from './trigger-files.js';
import { placeTriggers } from './trigger-places.js';
import { tokenOfOtherDatabase } from './triggers.errors.js';
import { type StoredTrigger, TriggersRepository } from './triggers.repository.js';
import { MAX_TRIGGERS } from './triggers.service.js';

/** A database of a file has no workspace, or several, or its workspace has too many triggers: that depends on what users store. */
class PlaceError extends TriggerFileError {}

/**
 * Stores the triggers of TRIGGERS_PATH at the start and, in a process without a terminal, at SIGHUP. If a file is invalid, nothing is loaded:
 * at start the process exits, at SIGHUP it keeps its triggers. Workspaces do not stop the start: if a database has no workspace, all triggers
 * stay as last loaded; if a workspace is over its limit, only its triggers do. Every process of an installation may load the same files: the
 * result is the same.
 */
@Injectable()
export class TriggerFileLoader implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly onHangUp = () => {
    this.load().catch((err: unknown) => {
      this.telemetry.logger.error({ err }, 'the trigger files were not reloaded');
    });
  };

  constructor(
    private readonly prisma: PrismaService,
    private readonly triggers: TriggersRepository,
    private readonly workspaces: FileWorkspacesRepository,
    private readonly client: WebhookClient,
    private readonly config: Config,
    private readonly telemetry: JobTelemetry,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.values.TRIGGERS_PATH === undefined) return;
    await this.load().catch((err: unknown) => {
      if (!(err instanceof PlaceError)) throw err;
      this.telemetry.logger.error({ err }, 'the triggers of some files were not loaded; those of their last load stay');
    });
    // In a terminal, SIGHUP means that the terminal was closed: the launcher stops the process.
    if (!hasTerminal()) process.on('SIGHUP', this.onHangUp);
  }

  onApplicationShutdown(): void {
    process.off('SIGHUP', this.onHangUp);
  }

  /** Throws `TriggerFileError` with the file and the reason. */
  async load(): Promise<void> {
    const path = this.config.values.TRIGGERS_PATH;
    if (path === undefined) return;
    const definitions = parseTriggerFiles(await readTriggerFiles(path));
    await this.checkUrls(path, definitions);
    const byWorkspace = await this.place(path, definitions);
    let full: PlaceError | undefined;
    for (const [workspaceId, own] of byWorkspace) {
      await this.store(workspaceId, own).catch((error: unknown) => {
        if (!(error instanceof PlaceError)) throw error;
        full ??= error; // the triggers of the other workspaces are stored
      });
    }
    if (full !== undefined) throw full;
    this.telemetry.logger.info({ path, triggers: definitions.length }, 'trigger files are loaded');
  }

  private async checkUrls(path: string, definitions: readonly TriggerDefinition[]): Promise<void> {
    for (const { url, triggerId } of definitions) {
      if (url?.startsWith('/') !== false) continue;
      await this.client.check(url).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        throw new TriggerFileError(`${path}: ${error.message} (trigger ${triggerId})`);
      });
    }
  }

  /** The definitions of each workspace; a workspace without any loses those that the files had before. */
  private async place(
    path: string,
    definitions: readonly TriggerDefinition[],
  ): Promise<ReadonlyMap<string, readonly TriggerDefinition[]>> {
    const workspaces = await this.workspaces.all();
    const databases = new Set(definitions.map(({ database }) => database));
    const connections = await this.workspaces.connections([...databases]);
    const workspaceOf = placeTriggers({ workspaces, connections, fallback: this.config.values.TRIGGERS_WORKSPACE });
    const placed = new Map<string, TriggerDefinition[]>(workspaces.map(({ id }) => [id, []]));
    for (const definition of definitions) {
      const workspace = workspaceOf(definition.database);
      if (typeof workspace === 'string') throw new PlaceError(`${path}: ${workspace}`);
      const isOwn = ownKindsOf(definition, ownDatabasesOf(workspace)).length > 0;
      if (definition.issueToken && !isOwn) {
        const problem = `${path}: trigger ${definition.triggerId}: ${tokenOfOtherDatabase}`;
        // An owner may have changed the name of the workspace, but not its id.
        throw definition.database === workspace.id ? new TriggerFileError(problem) : new PlaceError(problem);
      }
      placed.get(workspace.id)?.push(definition);
    }
    return placed;
  }

  private async store(workspaceId: string, definitions: readonly TriggerDefinition[]): Promise<void> {
    await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const before = await this.triggers.ofFiles(tx, workspaceId);
      if (before.length === 0 && definitions.length === 0) return;
      await lockWorkspace(tx, workspaceId);
      const own = await ownDatabases(tx, workspaceId);
      const savedBy = await this.workspaces.owner(tx, workspaceId);
      const kept = new Set<string>();
      for (const definition of definitions) {
        const known = await this.triggers.named(tx, workspaceId, definition);
        const id = known?.id ?? newId();
        kept.add(id);
        const ownKinds = ownKindsOf(definition, own);
        if (known !== null && isSame(known, { definition, ownKinds, savedBy })) continue;
        const owner = known?.owner ?? null;
        const saved = { id, origin: 'file', enabled: true, ownKinds, definition, savedBy, owner } as const;
        await this.triggers.save(tx, workspaceId, saved);
      }
      await this.remove(
        tx,
        workspaceId,
        before.filter(({ id }) => !kept.has(id)),
      );
      if ((await this.triggers.count(tx, workspaceId)) > MAX_TRIGGERS)
        throw new PlaceError(`workspace ${workspaceId} would have more than ${MAX_TRIGGERS} triggers`);
    });
  }

  private async remove(tx: PrismaTransaction, workspaceId: string, gone: readonly StoredTrigger[]): Promise<void> {
    if (gone.length === 0) return;
    await this.triggers.delete(
      tx,
      workspaceId,
      gone.map(({ id }) => id),
    );
  }
}

function isSame(known: StoredTrigger, wanted: Pick<StoredTrigger, 'definition' | 'ownKinds' | 'savedBy'>): boolean {
  const { origin, enabled, ownKinds, savedBy, definition } = known;
  const isSameState =
    origin === 'file' &&
    enabled &&
    canonicalJson(ownKinds) === canonicalJson(wanted.ownKinds) &&
    savedBy === wanted.savedBy;
  return isSameState && canonicalJson(definition) === canonicalJson(wanted.definition);
}
