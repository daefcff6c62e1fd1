/** As many as the server keeps of a user. */
const most = 1_000;

/** What a watch has told of late: where it begins anew, the server tells all that is unread again. */
export class DeliveredNotifications {
  private readonly told = new Map<string, boolean>();

  /** Whether it was not told before as it is now. */
  isNews({ id, read }: { readonly id: string; readonly read: boolean }): boolean {
    if (this.told.get(id) === read) return false;
    this.told.delete(id);
    this.told.set(id, read);
    const [oldest] = this.told.keys();
    if (this.told.size > most && oldest !== undefined) this.told.delete(oldest);
    return true;
  }
}
