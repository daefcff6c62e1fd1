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

  /** Lists notifications, newest first. */
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

  /** Marks one notification as read and returns it. May be repeated. Throws `not_found`. */
  async markRead(id: string, { signal }: WaitOptions = {}): Promise<Notification> {
    const options = asking(this.connection, signal);
    const { markNotificationRead } = await this.connection.http.execute(MarkNotificationReadDocument, { id }, options);
    assertTaken(markNotificationRead);
    const { notification } = markNotificationRead;
    if (notification === null)
      throw new NightshiftError("The server's response does not contain the notification.", { code: 'bad_response' });
    return notification;
  }

  /**
   * Marks all notifications as read. With `upTo`, the id of the newest shown one, later notifications stay unread. Returns how many were
   * unread (after a lost response: how many still were). Throws `not_found` if the notification `upTo` does not exist.
   */
  async markAllRead({ upTo, signal }: MarkAllOptions = {}): Promise<number> {
    const options = asking(this.connection, signal);
    const { http } = this.connection;
    const { markAllNotificationsRead } = await http.execute(MarkAllNotificationsReadDocument, { upTo }, options);
    assertTaken(markAllNotificationsRead);
    return markAllNotificationsRead.marked ?? 0;
  }

  /**
   * Yields the unread notifications (at most the newest 100), then each new one, and each one again when any client marks it as read.
   * Reconnects by itself, as the events of a job do, and yields nothing twice. After a lost connection it omits new notifications beyond
   * 100 and those that were read meanwhile; `list` and `unreadCount` include them. Ends only when `signal` aborts, and throws its reason.
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

/** The number of notifications that the server keeps for a user. */
const max = 1_000;

/** The recently delivered notifications of a watch: after a reconnect the server sends all unread ones again. */
export class DeliveredNotifications {
  private readonly delivered = new Map<string, boolean>();

  /** Whether this state of the notification is not delivered yet. */
  isNew({ id, read }: { readonly id: string; readonly read: boolean }): boolean {
    if (this.delivered.get(id) === read) return false;
    this.delivered.delete(id);
    this.delivered.set(id, read);
    const [oldest] = this.delivered.keys();
    if (this.delivered.size > max && oldest !== undefined) this.delivered.delete(oldest);
    return true;
  }
}
