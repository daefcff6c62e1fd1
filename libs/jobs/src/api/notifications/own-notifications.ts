import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, scopeOf } from '#auth';
import { isId } from '#platform';

import type { KeysetPage } from '../../jobs.repository.js';
import type { Notification, NotificationFilter } from '../../notifications/notification.js';
import { notificationNotFound } from '../../notifications/notifications.errors.js';
import { NotificationsRepository } from '../../notifications/notifications.repository.js';

/** Reads the caller's own notifications and marks them as read. */
@Injectable()
export class OwnNotifications {
  constructor(private readonly notifications: NotificationsRepository) {}

  /** Newest first. Returns one more than `limit` if there is a next page. */
  async list(member: MemberPrincipal, filter: NotificationFilter, page: KeysetPage): Promise<Notification[]> {
    return mayRead(member) ? this.notifications.listMine(scopeOf(member), filter, page) : [];
  }

  async count(member: MemberPrincipal, filter: NotificationFilter): Promise<number> {
    return mayRead(member) ? this.notifications.countMine(scopeOf(member), filter) : 0;
  }

  /** The caller's own notifications among these ids that match the filter. */
  async findMany(
    member: MemberPrincipal,
    filter: NotificationFilter,
    ids: readonly string[],
  ): Promise<readonly Notification[]> {
    return mayRead(member) ? this.notifications.findMine(scopeOf(member), filter, ids) : [];
  }

  /** May be called again. Throws `not_found`. */
  async markRead(member: MemberPrincipal, id: string): Promise<Notification> {
    if (!isId(id) || !mayRead(member)) throw notificationNotFound();
    await this.notifications.markRead(scopeOf(member), { id });
    const [read] = await this.notifications.findMine(scopeOf(member), {}, [id]);
    if (read === undefined) throw notificationNotFound();
    return read;
  }

  /**
   * Marks all notifications as read, or all up to the given one; newer ones stay unread. Returns how many were unread. Throws `not_found`.
   */
  async markAllRead(member: MemberPrincipal, upTo?: string): Promise<number> {
    if (!mayRead(member)) throw notificationNotFound();
    if (upTo === undefined) return this.notifications.markRead(scopeOf(member));
    const [newest] = isId(upTo) ? await this.notifications.findMine(scopeOf(member), {}, [upTo]) : [];
    if (newest === undefined) throw notificationNotFound();
    return this.notifications.markRead(scopeOf(member), { upTo });
  }
}

function mayRead(member: MemberPrincipal): boolean {
  return abilityOf(member).can('read', asSubject('Notification', member));
}
