import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  newId,
  type Page,
  type PageRequest,
  PrismaService,
  type PrismaTransaction,
  timeSlice,
  toStorable,
} from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { keptOwner } from '../kept-owner.js';
import { WebhookClient } from '../outbound/webhook-client.js';
import type { PushedChange } from './changes.repository.js';
import { deliveryBody, ownDatabases, toDocumentChange } from './changes.service.js';
import { mapInput, type MappedInput } from './map-input.js';
import { ownKindsOf } from './own-kinds.js';
import type { TriggerEvent } from './trigger-condition.js';
import { parseTrigger, type TriggerDefinition, TriggerProblem } from './trigger-definition.js';
import { evaluateAll, TriggerIndex } from './trigger-index.js';
import { type RunStatus, type TriggerRun, TriggerRunsRepository } from './trigger-runs.repository.js';
import {
  badTrigger,
  runNotFound,
  runNotWaiting,
  tokenOfOtherDatabase,
  tooManyTriggers,
  triggerNotFound,
  triggerOfFile,
} from './triggers.errors.js';
import { type StoredTrigger, TriggersRepository } from './triggers.repository.js';

export const MAX_TRIGGERS = 1_000;
/** Characters of events in the result of a test: the result of each trigger that fires contains the event about once. */
const maxTested = 4_194_304;
const testMs = 2_000;
const notShown = 'not shown: earlier triggers reached a limit of the test';

/** An event for a test of triggers. */
export interface TestedEvent {
  readonly database: string;
  /** Null: a request to this trigger. */
  readonly change: PushedChange | null;
  readonly triggerId: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The effect that a trigger would have for an event. */
export interface TriggerMatch {
  readonly trigger: StoredTrigger;
  readonly fires: boolean;
  /** Why its condition, or the input of its job, has no value. */
  readonly problem: string | null;
  /** The body that would be sent. Null: it does not fire, or starts a job. */
  readonly delivery: object | null;
  /** Null: it does not fire, or sends a request. */
  readonly input: Extract<MappedInput, { ok: true }> | null;
}

/** The triggers of a workspace. Members with the right to manage triggers see and change them; changes are audited. */
@Injectable()
export class TriggersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly triggers: TriggersRepository,
    private readonly runs: TriggerRunsRepository,
    private readonly client: WebhookClient,
  ) {}

  /** Newest first; of one database, or of all. */
  async list(
    principal: MemberPrincipal,
    database: string | null,
    { first, after }: PageRequest,
  ): Promise<Page<StoredTrigger>> {
    const rows = await this.prisma.withWorkspace(principal, (tx) =>
      this.triggers.list(tx, scopeOf(principal), { database, take: first + 1, after: after ?? null }),
    );
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** Throws `not_found`. */
  async get(principal: MemberPrincipal, id: string): Promise<StoredTrigger> {
    const found = await this.prisma.withWorkspace(principal, (tx) => this.triggers.find(tx, scopeOf(principal), id));
    if (found === null) throw triggerNotFound();
    return found;
  }

  /** The last runs of a trigger, newest first; with `status`, only runs with that status. */
  runsOf(
    principal: MemberPrincipal,
    runs: { readonly triggerId: string; readonly status: RunStatus | null; readonly take: number },
  ): Promise<readonly TriggerRun[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.runs.list(tx, scopeOf(principal), runs));
  }

  /** The definition with its defaults, as `save` would store it. Throws `forbidden`, and `bad_request` with the reason. */
  validate(principal: MemberPrincipal, given: unknown): TriggerDefinition {
    assertMay(principal);
    return read(given);
  }

  /** Ends a run that waits for its time: it starts no job. Throws `forbidden`, `not_found`, `conflict` (it does not wait any more). */
  cancelRun(principal: MemberPrincipal, id: string): Promise<TriggerRun> {
    assertMay(principal);
    return this.prisma.withWorkspace(principal, async (tx) => {
      const scope = scopeOf(principal);
      const known = await this.runs.find(tx, scope, id);
      if (known === null) throw runNotFound();
      const run = await this.runs.cancel(tx, scope, id);
      if (run === null) throw runNotWaiting();
      const details = { runId: id };
      const action = 'trigger-run-cancelled';
      await recordChange(tx, principal, { action, subjectType: 'Trigger', subjectId: run.triggerId, details });
      return run;
    });
  }

  /**
   * Creates a trigger, or replaces the one with its database and id. Throws `forbidden`, `not_found`, `bad_request` with the reason,
   * `conflict` (too many, or it comes from a file).
   */
  async save(
    principal: MemberPrincipal,
    { definition: given, enabled }: { readonly definition: unknown; readonly enabled: boolean },
  ): Promise<StoredTrigger> {
    assertMay(principal);
    const definition = read(given);
    if (definition.url?.startsWith('/') === false) await this.client.check(definition.url);
    const { workspaceId } = principal;
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, workspaceId);
      const known = await this.triggers.named(tx, workspaceId, definition);
      if (known?.origin === 'file') throw triggerOfFile();
      if (known === null && (await this.triggers.count(tx, workspaceId)) >= MAX_TRIGGERS)
        throw tooManyTriggers(MAX_TRIGGERS);
      const ownKinds = ownKindsOf(definition, await ownDatabases(tx, workspaceId));
      if (definition.issueToken && ownKinds.length === 0) throw badTrigger(tokenOfOtherDatabase);
      const id = known?.id ?? newId();
      const owner = keptOwner(known, principal);
      const saved = { id, origin: 'api', enabled, ownKinds, definition, savedBy: principal.id, owner } as const;
      await this.triggers.save(tx, workspaceId, saved);
      const action = known === null ? 'trigger-created' : 'trigger-saved';
      const details = { ...namesOf({ definition }), enabled };
      await recordChange(tx, principal, { action, subjectType: 'Trigger', subjectId: id, details });
      const found = await this.triggers.find(tx, scopeOf(principal), id);
      if (found === null) throw triggerNotFound();
      return found;
    });
  }

  /**
   * Turns a trigger on or off. It keeps the rights of the member who saved it. Throws `forbidden`, `not_found`, `conflict` (it comes from a
   * file).
   */
  async setEnabled(principal: MemberPrincipal, id: string, enabled: boolean): Promise<StoredTrigger> {
    return this.change(principal, id, async (tx, known) => {
      const { origin, ownKinds, definition, savedBy, owner } = known;
      const saved = { id, origin, enabled, ownKinds, definition, savedBy, owner };
      await this.triggers.save(tx, principal.workspaceId, saved);
      const details = { ...namesOf(known), enabled };
      await recordChange(tx, principal, { action: 'trigger-saved', subjectType: 'Trigger', subjectId: id, details });
      return (await this.triggers.find(tx, scopeOf(principal), id)) ?? { ...known, enabled };
    });
  }

  /** Jobs that it started continue. Throws `forbidden`, `not_found`, `conflict` (it comes from a file). */
  async delete(principal: MemberPrincipal, id: string): Promise<StoredTrigger> {
    return this.change(principal, id, async (tx, known) => {
      await this.triggers.delete(tx, principal.workspaceId, [id]);
      const details = namesOf(known);
      await recordChange(tx, principal, { action: 'trigger-deleted', subjectType: 'Trigger', subjectId: id, details });
      return known;
    });
  }

  /** Changes a stored trigger that does not come from a file, under the lock of its workspace. */
  private change(
    principal: MemberPrincipal,
    id: string,
    act: (tx: PrismaTransaction, known: StoredTrigger) => Promise<StoredTrigger>,
  ): Promise<StoredTrigger> {
    assertMay(principal);
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const known = await this.triggers.find(tx, scopeOf(principal), id);
      if (known === null) throw triggerNotFound();
      if (known.origin === 'file') throw triggerOfFile();
      return act(tx, known);
    });
  }

  /** Returns the effects that the enabled triggers of a workspace would have for an event. Nothing is sent, started or counted. */
  async test(
    principal: MemberPrincipal,
    { database, change, triggerId, body }: TestedEvent,
  ): Promise<readonly TriggerMatch[]> {
    assertMay(principal);
    const { workspaceId } = principal;
    const enabled = await this.prisma.withWorkspace(principal, (tx) => this.triggers.enabled(tx, workspaceId));
    const named = enabled.filter(({ definition }) => triggerId === null || definition.triggerId === triggerId);
    if (change === null) {
      const event: TriggerEvent = { type: 'webhook', timestamp: Date.now(), path: '', document: body, before: null };
      const hooks = named.filter(
        ({ definition }) => definition.source === 'webhook' && definition.database === database,
      );
      return toMatches(evaluateAll(hooks, event), event, () => null);
    }
    const event = toDocumentChange({ database, body: change });
    return toMatches(new TriggerIndex(named).evaluate(event), event, (trigger) =>
      deliveryBody(trigger, { database, body: change }, newId()),
    );
  }
}

type TriggerEvaluation = Pick<TriggerMatch, 'trigger' | 'fires' | 'problem'>;

/** Lets other requests run between two triggers. A trigger that fires after a limit is reached has a problem in place of its input. */
async function toMatches(
  evaluations: Iterable<TriggerEvaluation>,
  event: TriggerEvent,
  toDelivery: (trigger: StoredTrigger) => object | null,
): Promise<readonly TriggerMatch[]> {
  const size = JSON.stringify(event).length;
  const matches: TriggerMatch[] = [];
  const start = performance.now();
  let characters = 0;
  for (const evaluation of evaluations) {
    if (timeSlice.isOver) await timeSlice.nextTurn();
    if (evaluation.fires) characters += size;
    const isOver = characters > maxTested || performance.now() - start > testMs;
    if (evaluation.fires && isOver) matches.push({ ...evaluation, problem: notShown, delivery: null, input: null });
    else matches.push(toMatch(evaluation, event, toDelivery));
  }
  return matches;
}

function toMatch(
  { trigger, fires, problem }: TriggerEvaluation,
  event: TriggerEvent,
  toDelivery: (trigger: StoredTrigger) => object | null,
): TriggerMatch {
  const { start } = trigger.definition;
  if (!fires) return { trigger, fires, problem, delivery: null, input: null };
  if (start === null) return { trigger, fires, problem, delivery: toDelivery(trigger), input: null };
  const input = mapInput(start, event);
  return input.ok
    ? { trigger, fires, problem, delivery: null, input }
    : { trigger, fires, problem: input.problem, delivery: null, input: null };
}

function read(given: unknown): TriggerDefinition {
  try {
    return parseTrigger(toStorable(given), { database: 'default' });
  } catch (error) {
    throw error instanceof TriggerProblem ? badTrigger(error.message) : error;
  }
}

function namesOf({ definition: { database, triggerId } }: Pick<StoredTrigger, 'definition'>) {
  return { database, triggerId };
}

function assertMay(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'Trigger', row: { workspaceId } });
}
