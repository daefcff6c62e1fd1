import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import { ChatService } from '#chat';
import { newId, type Page, type PageRequest, PrismaService, type PrismaTransaction, toStorableText } from '#platform';
import { lockWorkspace, recordChange } from '#tools';
import { workflowNotFound } from '#workflows';
import { WorkflowsRepository } from '#workflows';
import { longestPrompt } from '#workflows';
import { promptTooLong } from '#workflows';

import { assertCron, isCron } from './cron.js';
import type {
  Schedule,
  ScheduledChat,
  ScheduledSlot,
  ScheduleKind,
  ScheduleTarget,
  ScheduleTerms,
} from './schedule.js';
import { toStartChat } from './scheduled-starts.js';
import {
  badCron,
  badScheduleName,
  chatTooLong,
  emptyPrompt,
  scheduleNameTaken,
  scheduleNotFound,
  tooManySchedules,
  unknownTimeZone,
} from './schedules.errors.js';
import { type Responsible, type SavedRow, SchedulesRepository } from './schedules.repository.js';
import { slotsAfter } from './slots.js';
import { isTimeZone } from './time-zone.js';

const MAX_SCHEDULES = 200;
/** Maximum length of the chat of a schedule, as JSON. */
const longestChat = 200_000;

interface GivenSchedule extends ScheduleTerms {
  /** Null: a new schedule, or the one with `name`. */
  readonly id: string | null;
  /** Unique in the workspace. Null: none. Absent: the name stays. */
  readonly name?: string | null | undefined;
}

/** A schedule of a chat to save. */
export interface SavedChatSchedule extends GivenSchedule {
  readonly chat: ScheduledChat;
}

/** A schedule of a workflow to save. */
export interface SavedSchedule extends GivenSchedule {
  readonly prompt: string;
  /** The workflow: server id, or the id of its document. */
  readonly workflowRef: string;
}

/**
 * Schedules of workflows and chats. Principals that may manage workflows can change schedules of workflows; each slot runs the version that
 * is published at that time. Members can change their own schedules of chats; principals that may manage schedules can change all of them.
 * Changes in one workspace run one after the other and are audited.
 */
@Injectable()
export class SchedulesService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly schedules: SchedulesRepository,
    private readonly workflows: WorkflowsRepository,
    private readonly chats: ChatService,
  ) {}

  /** Newest first. `workflowRef`: those of one workflow. Throws `not_found`. */
  async list(
    principal: MemberPrincipal,
    { kind, workflowRef = null }: { readonly kind: ScheduleKind; readonly workflowRef?: string | null },
    { first, after }: PageRequest,
  ): Promise<Page<Schedule>> {
    const rows = await this.prisma.withWorkspace(principal, async (tx) => {
      const workflowId = workflowRef === null ? null : await this.workflowId(tx, principal, workflowRef);
      return this.schedules.list(tx, scopeOf(principal), { kind, workflowId, take: first + 1, after });
    });
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** Throws `not_found`. */
  get(principal: MemberPrincipal, id: string, kind: ScheduleKind = 'workflow'): Promise<Schedule> {
    return this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, { id, kind }));
  }

  /** The results of its last slots, newest first; empty for an unknown schedule. */
  slots(principal: MemberPrincipal, id: string, take: number): Promise<readonly ScheduledSlot[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.schedules.slots(tx, scopeOf(principal), { id, take }));
  }

  /** The next slots; empty while the schedule is disabled or its expression cannot be parsed. */
  nextSlots({ enabled, cron, timeZone, nextSlotAt }: Schedule, count: number): readonly number[] {
    if (!enabled || nextSlotAt === null || !isCron(cron)) return [];
    return slotsAfter({ cron, timeZone }, nextSlotAt - 1, count);
  }

  /**
   * Creates a schedule, or replaces the one with this id (without an id: with this name). Its slots begin now. Throws `forbidden`,
   * `not_found`, `bad_request` (name, cron, time zone, prompt), `too_large`, `conflict` (too many, name in use).
   */
  async save(principal: MemberPrincipal, { prompt, workflowRef, ...given }: SavedSchedule): Promise<Schedule> {
    assertMayChange(principal, 'workflow');
    const text = toPrompt(prompt);
    return this.write(principal, given, async (tx) => {
      const workflowId = await this.workflowId(tx, principal, workflowRef);
      return { workflowId, prompt: text, chat: null };
    });
  }

  /**
   * Saves a schedule of a chat in the same way, and stores the files of its messages. Also throws the errors of `ChatService.start` for the
   * agent, the tools and the messages.
   */
  async saveChat(principal: MemberPrincipal, { chat, ...given }: SavedChatSchedule): Promise<Schedule> {
    assertMayChange(principal, 'chat');
    if (JSON.stringify(chat).length > longestChat) throw chatTooLong(longestChat);
    const messages = await this.chats.acceptForLater(principal, toStartChat(chat, null));
    const stored = { ...chat, messages };
    return this.write(principal, given, () => Promise.resolve({ workflowId: null, prompt: '', chat: stored }));
  }

  /**
   * Enables a schedule, starting with its next slot, or disables it. A chat keeps the rights of the member who wrote its messages, so that it
   * never runs them with the rights of another member. Throws `forbidden`, `not_found`.
   */
  async setEnabled(
    principal: MemberPrincipal,
    id: string,
    { enabled, kind = 'workflow' }: { readonly enabled: boolean; readonly kind?: ScheduleKind },
  ): Promise<Schedule> {
    return this.commit(principal, enabled ? 'schedule-enabled' : 'schedule-disabled', async (tx) => {
      const found = await this.find(tx, principal, { id, kind });
      const { name, cron, timeZone, missed, savedBy, userId } = found;
      const responsible = kind === 'chat' ? { savedBy, userId } : undefined;
      const terms = { cron, timeZone, missed, enabled };
      return this.change(tx, principal, { found, name, target: found, terms, responsible });
    });
  }

  /** Removes a schedule. The jobs that it started continue. Throws `forbidden`, `not_found`. */
  async remove(principal: MemberPrincipal, id: string, kind: ScheduleKind = 'workflow'): Promise<Schedule> {
    return this.commit(principal, 'schedule-removed', async (tx) => {
      const schedule = await this.find(tx, principal, { id, kind });
      assertMayChange(principal, kind, schedule);
      await this.schedules.remove(tx, scopeOf(principal), id);
      return schedule;
    });
  }

  private async write(
    principal: MemberPrincipal,
    { id, name: label, ...given }: GivenSchedule,
    toTarget: (tx: PrismaTransaction) => Promise<ScheduleTarget>,
  ): Promise<Schedule> {
    const name = toName(label);
    const terms = toTerms(given);
    return this.commit(principal, id === null ? 'schedule-created' : 'schedule-saved', async (tx) => {
      const target = await toTarget(tx);
      const named = name == null ? null : await this.schedules.named(tx, scopeOf(principal), name);
      if (named !== null && (named.id !== (id ?? named.id) || named.workflowId !== target.workflowId))
        throw scheduleNameTaken(name ?? '');
      const ref = id ?? named?.id;
      if (ref === undefined) return this.create(tx, principal, { name: name ?? null, target, terms });
      const found = await this.find(tx, principal, { id: ref, kind: target.chat === null ? 'workflow' : 'chat' });
      // The slots and jobs of a schedule belong to one workflow.
      if (found.workflowId !== target.workflowId) throw scheduleNotFound();
      return this.change(tx, principal, { found, name: name === undefined ? found.name : name, target, terms });
    });
  }

  private async create(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { name, target, terms }: Pick<SavedRow, 'name' | 'target' | 'terms'>,
  ): Promise<Schedule> {
    const id = newId();
    const scope = scopeOf(principal);
    if ((await this.schedules.count(tx, scope)) >= MAX_SCHEDULES) throw tooManySchedules(MAX_SCHEDULES);
    const nextSlotAt = nextSlot(terms, await this.schedules.now(tx));
    await this.schedules.create(tx, scope, { id, name, target, terms, nextSlotAt });
    return this.find(tx, principal, { id, kind: kindOf(target) });
  }

  /** `responsible`: default the caller. */
  private async change(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    given: Pick<SavedRow, 'name' | 'target' | 'terms'> & {
      readonly found: Schedule;
      readonly responsible?: Responsible | undefined;
    },
  ): Promise<Schedule> {
    const scope = scopeOf(principal);
    const { found, name, target, terms } = given;
    const responsible = given.responsible ?? { savedBy: principal.id, userId: principal.userId };
    const { id } = found;
    const kind = kindOf(target);
    assertMayChange(principal, kind, found);
    const nextSlotAt = nextSlot(terms, await this.schedules.now(tx));
    await this.schedules.change(tx, scope, { id, name, target, terms, nextSlotAt, responsible });
    // The idempotency key of a slot's job is bound to its principal: with another principal, an interrupted slot would start a second job.
    const isTakenOver = kind === 'chat' && found.savedBy !== responsible.savedBy;
    if (!terms.enabled || isTakenOver) await this.schedules.skipDue(tx, scope, id);
    return this.find(tx, principal, { id, kind });
  }

  private async find(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { id, kind }: { readonly id: string; readonly kind: ScheduleKind },
  ): Promise<Schedule> {
    const schedule = await this.schedules.find(tx, scopeOf(principal), id);
    if (schedule === null || kindOf(schedule) !== kind) throw scheduleNotFound();
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
    run: (tx: PrismaTransaction) => Promise<Schedule>,
  ): Promise<Schedule> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const changed = await run(tx);
      const { id: subjectId, name, workflowId, cron, timeZone, missed, enabled } = changed;
      const details = { name, workflowId, cron, timeZone, missed, enabled };
      await recordChange(tx, principal, { action, subjectType: 'Schedule', subjectId, details });
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

function toTerms({ cron, timeZone, missed, enabled }: ScheduleTerms): ScheduleTerms {
  if (!isTimeZone(timeZone)) throw unknownTimeZone();
  assertCron(cron);
  return { cron: cron.trim(), timeZone, missed, enabled };
}

function toPrompt(prompt: string): string {
  const text = toStorableText(prompt);
  if (text.trim() === '') throw emptyPrompt();
  if (text.length > longestPrompt) throw promptTooLong(longestPrompt);
  return text;
}

/** Returns null if the schedule is disabled. Throws `bad_request` if the expression never matches. */
function nextSlot({ cron, timeZone, enabled }: ScheduleTerms, now: number): number | null {
  const [next] = slotsAfter({ cron, timeZone }, now, 1);
  if (next === undefined) throw badCron('never comes');
  return enabled ? next : null;
}

function kindOf({ chat }: ScheduleTarget): ScheduleKind {
  return chat === null ? 'workflow' : 'chat';
}

/** `found` is absent for a new schedule. Throws `forbidden`, `not_found`. */
function assertMayChange(principal: MemberPrincipal, kind: ScheduleKind, found?: Schedule): void {
  const { workspaceId } = principal;
  const ability = abilityOf(principal);
  if (kind === 'workflow') assertCan(ability, { action: 'manage', subject: 'Workflow', row: { workspaceId } });
  else {
    const userId = found === undefined ? principal.userId : found.userId;
    assertCan(ability, { action: 'change', subject: 'Schedule', row: { workspaceId, userId } });
  }
}
