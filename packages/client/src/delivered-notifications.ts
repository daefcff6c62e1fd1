/** As many as the server keeps of a user. */
const most = 1_000;

/** The recently delivered notifications of a watch: after a reconnect the server sends all unread ones again. */
export class DeliveredNotifications {
  private readonly told = new Map<string, boolean>();

  /** Whether it was not yet delivered in its present state. */
  isNews({ id, read }: { readonly id: string; readonly read: boolean }): boolean {
    if (this.told.get(id) === read) return false;
    this.told.delete(id);
    this.told.set(id, read);
    const [oldest] = this.told.keys();
    if (this.told.size > most && oldest !== undefined) this.told.delete(oldest);
    return true;
  }
}
