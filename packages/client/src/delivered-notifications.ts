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
