import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import { newId, type Page, type PageRequest, PrismaService, type PrismaTransaction, toStorableText } from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { workflowNotFound } from '../definitions/workflows.errors.js';
import { WorkflowsRepository } from '../definitions/workflows.repository.js';
import { longestPrompt } from '../start/assert-fits.js';
import { promptTooLong } from '../start/start.errors.js';
import { assertCron, isCron } from './cron.js';
import type { ScheduledSlot, ScheduleTerms, WorkflowSchedule } from './schedule.js';
import {
  badCron,
  badScheduleName,
  emptyPrompt,
  scheduleNameTaken,
  scheduleNotFound,
  tooManySchedules,
  unknownTimeZone,
} from './schedules.errors.js';
import { SchedulesRepository } from './schedules.repository.js';
import { slotsAfter } from './slots.js';
import { isTimeZone } from './time-zone.js';

const MAX_SCHEDULES = 200;

/** A schedule to be saved. */
export interface SavedSchedule extends ScheduleTerms {
  /** Null: a new one, or the one with `name`. */
  readonly id: string | null;
  /** Unique in the workspace. Null: none. Absent: the name stays. */
  readonly name?: string | null | undefined;
  /** Our id of the workflow, or the one its document came with. */
  readonly workflowRef: string;
}

/**
 * When workflows run by themselves. Who may read a workflow may see it; those who may manage it set it. What runs is what is
 * published then. Changes of one workspace run one after the other and are audited.
 */
@Injectable()
export class SchedulesService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly schedules: SchedulesRepository,
    private readonly workflows: WorkflowsRepository,
  ) {}

  /** Newest first; of one workflow, or of all. Throws `not_found`. */
  async list(
    principal: MemberPrincipal,
    workflowRef: string | null,
    { first, after }: PageRequest,
  ): Promise<Page<WorkflowSchedule>> {
    const rows = await this.prisma.withWorkspace(principal, async (tx) => {
      const workflowId = workflowRef === null ? null : await this.workflowId(tx, principal, workflowRef);
      return this.schedules.list(tx, scopeOf(principal), { workflowId, take: first + 1, after });
    });
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** Throws `not_found`. */
  get(principal: MemberPrincipal, id: string): Promise<WorkflowSchedule> {
    return this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, id));
  }

  /** What became of its last slots, newest first; none for one that is not there. */
  slots(principal: MemberPrincipal, id: string, take: number): Promise<readonly ScheduledSlot[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.schedules.slots(tx, scopeOf(principal), { id, take }));
  }

  /** The next slots; none while the schedule is disabled or its expression cannot be read. */
  nextSlots({ enabled, cron, timeZone, nextSlotAt }: WorkflowSchedule, count: number): readonly number[] {
    if (!enabled || nextSlotAt === null || !isCron(cron)) return [];
    return slotsAfter({ cron, timeZone }, nextSlotAt - 1, count);
  }

  /**
   * Creates a schedule, or replaces the one with this id (without an id: with this name); its slots are those from now on.
   * Throws `forbidden`, `not_found`, `bad_request` (name, cron, time zone, prompt), `too_large`, `conflict` (too many, name in use).
   */
  async save(
    principal: MemberPrincipal,
    { id, name: label, workflowRef, ...given }: SavedSchedule,
  ): Promise<WorkflowSchedule> {
    assertMay(principal);
    const name = toName(label);
    const terms = toTerms(given);
    return this.commit(principal, id === null ? 'schedule-created' : 'schedule-saved', async (tx) => {
      const workflowId = await this.workflowId(tx, principal, workflowRef);
      const named = name == null ? null : await this.schedules.named(tx, scopeOf(principal), name);
      if (named !== null && (named.id !== (id ?? named.id) || named.workflowId !== workflowId))
        throw scheduleNameTaken(name ?? '');
      const ref = id ?? named?.id;
      if (ref === undefined) return this.create(tx, principal, { name: name ?? null, workflowId, terms });
      const schedule = await this.find(tx, principal, ref);
      // Its slots and their jobs are those of one workflow.
      if (schedule.workflowId !== workflowId) throw scheduleNotFound();
      return this.change(tx, principal, { id: ref, name: name === undefined ? schedule.name : name, terms });
    });
  }

  /** Lets it start jobs, from the next slot on, or no more. Throws `forbidden`, `not_found`. */
  async setEnabled(principal: MemberPrincipal, id: string, enabled: boolean): Promise<WorkflowSchedule> {
    assertMay(principal);
    return this.commit(principal, enabled ? 'schedule-enabled' : 'schedule-disabled', async (tx) => {
      const { name, cron, timeZone, missed, prompt } = await this.find(tx, principal, id);
      return this.change(tx, principal, { id, name, terms: { cron, timeZone, missed, prompt, enabled } });
    });
  }

  /** Jobs that it started continue. Throws `forbidden`, `not_found`. */
  async remove(principal: MemberPrincipal, id: string): Promise<WorkflowSchedule> {
    assertMay(principal);
    return this.commit(principal, 'schedule-removed', async (tx) => {
      const schedule = await this.find(tx, principal, id);
      await this.schedules.remove(tx, scopeOf(principal), id);
      return schedule;
    });
  }

  private async create(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { name, workflowId, terms }: Pick<WorkflowSchedule, 'name' | 'workflowId'> & { readonly terms: ScheduleTerms },
  ): Promise<WorkflowSchedule> {
    const id = newId();
    const scope = scopeOf(principal);
    if ((await this.schedules.count(tx, scope)) >= MAX_SCHEDULES) throw tooManySchedules(MAX_SCHEDULES);
    const nextSlotAt = nextSlot(terms, await this.schedules.now(tx));
    await this.schedules.create(tx, scope, { id, name, workflowId, ...terms, nextSlotAt });
    return this.find(tx, principal, id);
  }

  private async change(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { id, name, terms }: Pick<WorkflowSchedule, 'id' | 'name'> & { readonly terms: ScheduleTerms },
  ): Promise<WorkflowSchedule> {
    const scope = scopeOf(principal);
    const nextSlotAt = nextSlot(terms, await this.schedules.now(tx));
    await this.schedules.change(tx, scope, { id, name, terms, nextSlotAt });
    if (!terms.enabled) await this.schedules.skipDue(tx, scope, id);
    return this.find(tx, principal, id);
  }

  private async find(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<WorkflowSchedule> {
    const schedule = await this.schedules.find(tx, scopeOf(principal), id);
    if (schedule === null) throw scheduleNotFound();
    return schedule;
  }

  private async workflowId(tx: PrismaTransaction, principal: MemberPrincipal, ref: string): Promise<string> {
    const workflow = await this.workflows.find(tx, scopeOf(principal), ref);
    if (workflow === null) throw workflowNotFound();
    return workflow.id;
  }

  private commit(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<WorkflowSchedule>,
  ): Promise<WorkflowSchedule> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const changed = await run(tx);
      const { id: subjectId, name, workflowId, cron, timeZone, missed, enabled } = changed;
      const details = { name, workflowId, cron, timeZone, missed, enabled };
      await recordChange(tx, principal, { action, subjectType: 'WorkflowSchedule', subjectId, details });
      return changed;
    });
  }
}

const longestName = 100;

function toName(given: string | null | undefined): string | null | undefined {
  if (given == null) return given;
  const name = toStorableText(given).trim();
  if (name === '' || name.length > longestName) throw badScheduleName();
  return name;
}

function toTerms({ cron, timeZone, missed, prompt, enabled }: ScheduleTerms): ScheduleTerms {
  const text = toStorableText(prompt);
  if (text.trim() === '') throw emptyPrompt();
  if (text.length > longestPrompt) throw promptTooLong(longestPrompt);
  if (!isTimeZone(timeZone)) throw unknownTimeZone();
  assertCron(cron);
  return { cron: cron.trim(), timeZone, missed, prompt: text, enabled };
}

/** Null: it is disabled. Throws `bad_request` for what never comes. */
function nextSlot({ cron, timeZone, enabled }: ScheduleTerms, now: number): number | null {
  const [next] = slotsAfter({ cron, timeZone }, now, 1);
  if (next === undefined) throw badCron('never comes');
  return enabled ? next : null;
}

function assertMay(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'Workflow', row: { workspaceId } });
}
