import { asking, type Connection } from './connection.js';
import {
  MarkAllNotificationsReadDocument,
  MarkNotificationReadDocument,
  NotificationActivityDocument,
  type NotificationFieldsFragment,
  type NotificationFilterInput,
  NotificationsDocument,
  UnreadNotificationCountDocument,
} from './generated/graphql.js';
import { NightshiftError } from './nightshift-error.js';
import { type Page, type PageOptions, toPage } from './page.js';
import { resubscribe } from './resubscribe.js';
import { assertTaken } from './to-failure.js';
import type { WaitOptions } from './wait-options.js';

/** A notification about a job of the user, sent while no client watched it, or about a webhook endpoint: docs/notifications.md. */
export type Notification = NotificationFieldsFragment;

/** The notifications of the user in this workspace. Users see only their own. */
export class Notifications {
  constructor(private readonly connection: Connection) {}

  /** Newest first. */
  async list(filter: NotificationFilterInput = {}, { signal, ...page }: PageOptions = {}): Promise<Page<Notification>> {
    const options = asking(this.connection, signal);
    const { notifications } = await this.connection.http.execute(NotificationsDocument, { filter, ...page }, options);
    return toPage(notifications);
  }

  /** The number of unread notifications, for a badge. */
  async unreadCount({ signal }: WaitOptions = {}): Promise<number> {
    const options = asking(this.connection, signal);
    const { notifications } = await this.connection.http.execute(UnreadNotificationCountDocument, {}, options);
    return notifications.totalCount ?? 0;
  }

  /** Marks one as read, and gives it as it then is. May be repeated. Throws `not_found`. */
  async markRead(id: string, { signal }: WaitOptions = {}): Promise<Notification> {
    const options = asking(this.connection, signal);
    const { markNotificationRead } = await this.connection.http.execute(MarkNotificationReadDocument, { id }, options);
    assertTaken(markNotificationRead);
    const { notification } = markNotificationRead;
    if (notification === null) throw new NightshiftError('Nothing was marked', { code: 'bad_response' });
    return notification;
  }

  /**
   * Marks all as read; with `upTo`, the id of the newest that was shown, those after it stay unread. Gives how many had been unread
   * (after a lost response, how many still were). Throws `not_found` when the notification does not exist.
   */
  async markAllRead({ upTo, signal }: MarkAllOptions = {}): Promise<number> {
    const options = asking(this.connection, signal);
    const { http } = this.connection;
    const { markAllNotificationsRead } = await http.execute(MarkAllNotificationsReadDocument, { upTo }, options);
    assertTaken(markAllNotificationsRead);
    return markAllNotificationsRead.marked ?? 0;
  }

  /**
   * First those that are unread (at most the newest 100), then each one when it is written, and again when it is read, wherever that
   * was. Attaches again by itself after a lost connection, as the events of a job do, and delivers nothing twice; of more than 100 that
   * were written meanwhile, and of what was read meanwhile, `list` and `unreadCount` know. Ends only with `signal`, by throwing its
   * reason.
   */
  async *watch(
    filter: NotificationFilterInput = {},
    { signal }: WaitOptions = {},
  ): AsyncGenerator<Notification, void, undefined> {
    const delivered = new DeliveredNotifications();
    const watched = resubscribe(this.connection, NotificationActivityDocument, {
      variables: () => ({ filter }),
      signal,
    });
    for await (const { notificationActivity } of watched)
      if (delivered.isNew(notificationActivity)) yield notificationActivity;
  }
}

export interface MarkAllOptions extends WaitOptions {
  readonly upTo?: string | undefined;
}

/** As many as the server keeps of a user. */
const most = 1_000;

/** The recently delivered notifications of a watch: after a reconnect the server sends all unread ones again. */
export class DeliveredNotifications {
  private readonly delivered = new Map<string, boolean>();

  /** Whether it was not yet delivered in its present state. */
  isNew({ id, read }: { readonly id: string; readonly read: boolean }): boolean {
    if (this.delivered.get(id) === read) return false;
    this.delivered.delete(id);
    this.delivered.set(id, read);
    const [oldest] = this.delivered.keys();
    if (this.delivered.size > most && oldest !== undefined) this.delivered.delete(oldest);
    return true;
  }
}
