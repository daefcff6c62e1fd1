import { Injectable } from '@nestjs/common';

import { NotificationsRepository } from '#jobs';
import { type Clock, type PrismaTransaction, Queues, systemClock } from '#platform';

import { DeliveriesRepository, type DeliveryRef, type DueDelivery, type Settlement } from '../deliveries.repository.js';
import type { Attempt, NewTriggerDelivery, Verdict } from '../delivery.js';
import { EndpointHealthRepository } from '../endpoint-health.repository.js';
import { NotificationChannelsRepository } from '../notifications/notification-channels.repository.js';

/** The result of an attempt. */
export interface SentDelivery {
  readonly verdict: Verdict;
  /** Null: nothing was sent. */
  readonly attempt: Attempt | null;
  /** Until the next attempt; null: there is none. */
  readonly delayMs: number | null;
}

/**
 * The rows of webhooks and their queue messages. A delivery is stored, and its message sent, in the transaction that writes its
 * event. The row is authoritative: a message that is lost is sent again within minutes.
 */
@Injectable()
export class Deliveries {
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor(
    private readonly repository: DeliveriesRepository,
    private readonly health: EndpointHealthRepository,
    private readonly channels: NotificationChannelsRepository,
    private readonly notifications: NotificationsRepository,
    private readonly queues: Queues,
  ) {}

  /**
   * Adds the webhook of a trigger in the caller's transaction, which must see the workspace. Nothing happens if a delivery with its id
   * exists. Those of one order key are sent in the order of these calls, so a transaction that adds several keys adds them in one order.
   */
  async add(tx: PrismaTransaction, delivery: NewTriggerDelivery): Promise<void> {
    await this.queues.send(tx, 'webhook.deliver', await this.repository.insert(tx, delivery, this.clock.now()));
  }

  /** Null: the message is outdated, or an earlier delivery of the same order is pending. */
  findDue(ref: DeliveryRef, number: number): Promise<DueDelivery | null> {
    return this.repository.findDue(ref, number);
  }

  /** Stores the result of an attempt, once. */
  async settle(due: DueDelivery, { verdict, attempt, delayMs }: SentDelivery): Promise<void> {
    const now = this.clock.now();
    await this.repository.inWorkspace(due.workspaceId, async (tx) => {
      const nextAt = delayMs === null ? null : now + delayMs;
      const settlement = { ...toSettlement(verdict, nextAt), attempt, now };
      const messages = await this.repository.settle(tx, due, settlement);
      if (messages === null) return;
      await this.queues.send(tx, 'webhook.deliver', messages);
      const isBlocked = verdict.kind === 'dead' && verdict.reason === 'blocked_address';
      if (due.channelId !== null && (attempt !== null || isBlocked)) {
        const error = verdict.kind === 'delivered' ? null : verdict.kind === 'retry' ? verdict.error : verdict.reason;
        const isDead = settlement.status === 'dead';
        const isGone = verdict.kind === 'dead' && verdict.disables === true;
        const outcome = { workspaceId: due.workspaceId, id: due.channelId, error, isDead, isGone, now };
        await this.channels.settle(tx, outcome);
      }
      if (due.endpointId === null || due.endpoint?.enabled !== true) return;
      const { workspaceId, endpointId: id } = due;
      if (verdict.kind === 'delivered') await this.health.succeeded(tx, workspaceId, id);
      else await this.fail(tx, { workspaceId, id, verdict, isDead: settlement.status === 'dead' });
    });
  }

  /** Postpones a delivery. This is not an attempt, and later deliveries of its order wait for it. */
  postpone(due: DueDelivery, delayMs: number): Promise<void> {
    return this.settle(due, { verdict: { kind: 'retry', error: 'rate_limited' }, attempt: null, delayMs });
  }

  /** Sends the messages of overdue deliveries again. */
  async sweep(): Promise<void> {
    const messages = await this.repository.findOverdue(this.clock.now() - overdueMs, sweptAtOnce);
    if (messages.length > 0) await this.queues.send(null, 'webhook.deliver', messages);
  }

  private async fail(
    tx: PrismaTransaction,
    failed: { readonly workspaceId: string; readonly id: string; readonly verdict: Verdict; readonly isDead: boolean },
  ): Promise<void> {
    const { workspaceId, id, verdict, isDead } = failed;
    const now = this.clock.now();
    const isGone = verdict.kind === 'dead' && verdict.disables === true;
    const health = await this.health.failed(tx, { workspaceId, id, isDead, now });
    if (health === null) return;
    const isFailing = health.deadSinceSuccess >= minDeadLetters && now - health.failingSince >= minFailureMs;
    if (!isGone && !isFailing) return;
    const disabled = await this.health.disable(tx, { workspaceId, id, reason: isGone ? 'gone' : 'failing', now });
    if (disabled === null) return;
    await this.health.abandonPending(tx, { workspaceId, id, now });
    await this.queues.send(tx, 'webhook.deliver', disabled.messages);
    const title = disabled.description === '' ? new URL(disabled.url).host : disabled.description;
    const notice = { workspaceId, endpointId: id, title, now };
    await this.notifications.notifyOfEndpoint(tx, notice, await this.health.managers(tx, workspaceId));
  }
}

/** A message is handled within seconds unless its group is busy; then it is still stored, and pg-boss drops the second one. */
const overdueMs = 60_000;
const sweptAtOnce = 1_000;

/** An endpoint is disabled after 5 days without a success in which 10 deliveries became dead letters. */
const minFailureMs = 5 * 24 * 3_600_000;
const minDeadLetters = 10;

function toSettlement(verdict: Verdict, nextAt: number | null): Pick<Settlement, 'status' | 'reason' | 'nextAt'> {
  if (verdict.kind === 'delivered') return { status: 'delivered', reason: null, nextAt: null };
  if (verdict.kind === 'retry' && nextAt !== null) return { status: 'pending', reason: null, nextAt };
  return { status: 'dead', reason: verdict.kind === 'retry' ? verdict.error : verdict.reason, nextAt: null };
}
