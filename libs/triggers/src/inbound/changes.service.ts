import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { abilityOf, assertCan, type MemberPrincipal } from '#auth';
import {
  AppError,
  idFrom,
  PrismaService,
  type PrismaTransaction,
  Queues,
  timeSlice,
  toSlug,
  toStorable,
} from '#platform';

import { Deliveries } from '../outbound/deliveries/deliveries.service.js';
import type { TriggerTarget } from '../outbound/delivery.js';
import { ChangesRepository, type PushedChange, type StoredChange } from './changes.repository.js';
import { threadOf } from './map-input.js';
import { type DocumentChange, TriggerIndex } from './trigger-index.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';
import { depthAfter } from './trigger-starts.service.js';
import { ownDatabase } from './triggers.errors.js';
import { type StoredTrigger, type TriggerCounts, TriggersRepository } from './triggers.repository.js';

/** Maximum changes of one message. */
const atOnce = 100;
/** A message begins no further change after this time, so that other workspaces get their turn. */
const messageMs = 2_000;
/** A change fires no further trigger after this time; with `messageMs` it stays below the 30 s of a transaction. */
const changeMs = 20_000;
/** Maximum length of a chain of jobs that triggers start at the end of the previous one; it stops triggers that start each other. */
const longestChain = 8;
/** Workspaces whose compiled triggers stay in memory. */
const indexesKept = 1_000;

interface CachedIndex {
  readonly version: string;
  readonly index: TriggerIndex<StoredTrigger>;
}

/**
 * Takes changes of documents and evaluates the triggers of their workspace. What fires is written in the transaction that marks the change as
 * evaluated: a delivery, or a run that starts a job. A crash repeats the evaluation, and nothing of it is written twice.
 */
@Injectable()
export class Changes {
  private readonly indexes = new LRUCache<string, CachedIndex>({ max: indexesKept });

  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: ChangesRepository,
    private readonly triggers: TriggersRepository,
    private readonly runs: TriggerRunsRepository,
    private readonly deliveries: Deliveries,
    private readonly queues: Queues,
  ) {}

  /** Stores changes of a database; known changes count as duplicates. Throws `forbidden`, `not_found`, `conflict`, `not_storable`. */
  async publish(
    principal: MemberPrincipal,
    database: string,
    changes: readonly PushedChange[],
  ): Promise<{ readonly accepted: number; readonly duplicates: number }> {
    const { workspaceId } = principal;
    assertCan(abilityOf(principal), { action: 'publish', subject: 'Trigger', row: { workspaceId } });
    const stored = toStorable(changes) as unknown as readonly PushedChange[]; // the same shape; only texts are normalized
    const accepted = await this.prisma.withWorkspace(principal, async (tx) => {
      if ((await ownDatabases(tx, workspaceId)).includes(database)) throw ownDatabase();
      const inserted = await this.changes.insert(tx, { workspaceId, database }, stored);
      if (inserted > 0) await this.queues.send(tx, 'trigger.changes', [{ data: { workspaceId } }]);
      return inserted;
    });
    return { accepted, duplicates: changes.length - accepted };
  }

  /** Evaluates waiting changes of a workspace for some seconds; a new message evaluates the rest. */
  async evaluate(workspaceId: string): Promise<void> {
    await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await this.changes.lock(tx, workspaceId);
      if (await this.runs.isFull(tx, workspaceId)) return; // a sweep sends the message again
      const open = await this.changes.open(tx, workspaceId, atOnce);
      if (open.length === 0) return;
      const evaluated = await this.evaluateIn(tx, workspaceId, open);
      // Includes changes that were committed meanwhile, because this message may be the one that announces them.
      if (evaluated < open.length || (await this.changes.newestOpen(tx, workspaceId)) !== null)
        await this.queues.send(tx, 'trigger.changes', [{ data: { workspaceId } }]);
    });
  }

  /** Sends a message if changes of the workspace wait, one for all processes that see the same changes. Returns whether changes wait. */
  async announce(workspaceId: string): Promise<boolean> {
    const newest = await this.prisma.withWorkspace({ workspaceId }, (tx) => this.changes.newestOpen(tx, workspaceId));
    if (newest === null) return false;
    await this.queues.send(null, 'trigger.changes', [{ id: idFrom(newest, 'open'), data: { workspaceId } }]);
    return true;
  }

  /** Sends the messages of changes again that have waited for over half a minute. */
  async sweep(): Promise<void> {
    const messages = (await this.changes.waiting(30_000, 1_000)).map((workspaceId) => ({ data: { workspaceId } }));
    if (messages.length > 0) await this.queues.send(null, 'trigger.changes', messages);
  }

  /** Evaluates the first changes of `open`, at least one, and closes them. Returns how many. */
  private async evaluateIn(tx: PrismaTransaction, workspaceId: string, open: readonly StoredChange[]): Promise<number> {
    const index = await this.indexOf(tx, workspaceId);
    const counts = new Map<string, TriggerCounts>();
    const evaluated: string[] = [];
    const start = performance.now();
    for (const change of open) {
      const changeStart = performance.now();
      if (evaluated.length > 0 && changeStart - start > messageMs) break;
      const depth = await this.depthOf(tx, workspaceId, change);
      for (const evaluation of index.evaluate(toDocumentChange(change))) {
        if (timeSlice.isOver) await timeSlice.nextTurn();
        const now = performance.now();
        const isLate = evaluation.fires && now - changeStart > changeMs;
        const isCircle = evaluation.fires && depth >= longestChain && evaluation.trigger.definition.start !== null;
        const refusal = isCircle ? `the chain of jobs that triggers started has ${longestChain} jobs` : null;
        const problem = isLate ? 'the change fires too many triggers' : (refusal ?? evaluation.problem);
        const fires = evaluation.fires && !isLate && !isCircle;
        if (fires) await this.fire(tx, workspaceId, { trigger: evaluation.trigger, change, depth });
        if (fires || problem !== null) count(counts, evaluation.trigger.id, problem);
      }
      evaluated.push(change.id);
    }
    await this.triggers.add(tx, workspaceId, [...counts.values()]);
    await this.changes.close(tx, workspaceId, evaluated);
    return evaluated.length;
  }

  private async fire(
    tx: PrismaTransaction,
    workspaceId: string,
    {
      trigger,
      change,
      depth,
    }: { readonly trigger: StoredTrigger; readonly change: StoredChange; readonly depth: number },
  ): Promise<void> {
    const { definition, id: triggerId } = trigger;
    const { url, start, headers, secretsRef, retryPolicy, timeout, concurrency, rateLimit } = definition;
    if (start !== null) {
      const event = toDocumentChange(change);
      const key = `change:${change.id}`;
      const run = { workspaceId, triggerId, key, event, thread: threadOf(start, event), delayMs: start.delay, depth };
      await this.runs.insert(tx, run);
      return;
    }
    const id = idFrom(triggerId, change.id);
    await this.deliveries.add(tx, {
      ...{ workspaceId, id, triggerId: definition.triggerId, type: change.body.type },
      body: JSON.stringify(deliveryBody(trigger, change, id)),
      orderKey: JSON.stringify([change.database, change.body.collection, change.body.documentId]),
      target: {
        ...{ url: url ?? '', headers, signature: 'both', concurrency },
        trigger: { id: triggerId, database: definition.database },
        rate: rateLimit === null ? null : { key: triggerId, limit: rateLimit },
        token: tokenOf(trigger, change),
        secretNames: secretsRef === null ? [] : [secretsRef],
        policy: {
          maxAttempts: retryPolicy.maxAttempts,
          initialBackoffMs: retryPolicy.initialBackoff,
          maxBackoffMs: retryPolicy.maxBackoff,
          timeoutMs: timeout,
        },
      },
    });
  }

  /** Only rows of jobs continue a chain: clients cannot publish changes to the workspace's own database. */
  private async depthOf(tx: PrismaTransaction, workspaceId: string, { body, isOwn }: StoredChange): Promise<number> {
    if (!isOwn) return 0;
    const jobId = body.collection === 'jobs' ? body.documentId : body.document?.['jobId'];
    return typeof jobId === 'string' ? depthAfter(await this.runs.keyOfJob(tx, workspaceId, jobId)) : 0;
  }

  private async indexOf(tx: PrismaTransaction, workspaceId: string): Promise<TriggerIndex<StoredTrigger>> {
    const version = await this.triggers.version(tx, workspaceId);
    const known = this.indexes.get(workspaceId);
    if (known?.version === version) return known.index;
    const index = new TriggerIndex(await this.triggers.enabled(tx, workspaceId));
    this.indexes.set(workspaceId, { version, index });
    return index;
  }
}

/** Receivers of a change of an own row may read its thread. */
function tokenOf(
  { id: triggerId, definition }: StoredTrigger,
  change: StoredChange,
): NonNullable<TriggerTarget['token']> | null {
  const { database, body, isOwn } = change;
  if (!definition.issueToken || !isOwn) return null;
  const threadId = body.collection === 'jobs' ? body.document?.['threadId'] : body.collection.split('/')[1];
  return typeof threadId === 'string' ? { triggerId, database, threadId } : null;
}

/** The names of the database whose documents are the rows of the workspace. */
export async function ownDatabases(tx: PrismaTransaction, workspaceId: string): Promise<readonly string[]> {
  const workspace = await tx.workspace.findUnique({ where: { id: workspaceId }, select: { name: true } });
  if (workspace === null) throw new AppError({ code: 'not_found', message: 'Workspace not found' });
  return ownDatabasesOf({ id: workspaceId, name: workspace.name });
}

export function ownDatabasesOf({ id, name }: { readonly id: string; readonly name: string }): readonly string[] {
  const slug = toSlug(name);
  return slug === '' ? [id] : [id, slug];
}

/** The view of a change that triggers have. `id` and `collection` of the document replace its fields of these names. */
export function toDocumentChange({ database, body }: Pick<StoredChange, 'database' | 'body'>): DocumentChange {
  const { type, collection, documentId, document, before, timestamp } = body;
  const own = { id: documentId, collection };
  return {
    ...{ database, collection, type, timestamp, path: `${collection}/${documentId}` },
    document: document === undefined || type === 'delete' ? null : { ...document, ...own },
    before: before === undefined ? null : { ...before, ...own },
  };
}

/** The body of a delivery, for both generations of the format. */
export function deliveryBody(
  { definition }: Pick<StoredTrigger, 'definition'>,
  { database, body }: Pick<StoredChange, 'database' | 'body'>,
  deliveryId: string,
): object {
  const { triggerId, version, includeBefore } = definition;
  const { type: event, collection, documentId, lsn, seq, timestamp: ts } = body;
  const { document, before } = toDocumentChange({ database, body });
  return {
    triggerId,
    ...(version === null ? {} : { version }),
    ...{ database, tenant: database, event, collection, documentId, docKey: `${collection}/${documentId}`, lsn, seq },
    ...(includeBefore && before !== null ? { before } : {}),
    ...(document === null ? {} : { after: document }),
    ...{ payload: event === 'delete' ? before : document, ts, deliveryId },
  };
}

function count(counts: Map<string, TriggerCounts>, id: string, problem: string | null): void {
  const { fired = 0, failed = 0, lastError = null } = counts.get(id) ?? {};
  counts.set(
    id,
    problem === null
      ? { id, fired: fired + 1, failed, lastError }
      : { id, fired, failed: failed + 1, lastError: problem },
  );
}
