/** Most rows that a viewer's connection remembers. */
const maxDelivered = 5_000;

/** Rows that a viewer received as current: it also gets their end, regardless of its filter. Beyond the limit the oldest are forgotten. */
export class DeliveredIds {
  private readonly ids = new Set<string>();

  constructor(private readonly most: number = maxDelivered) {}

  /** Whether this is news. */
  begin(id: string): boolean {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    const [oldest] = this.ids;
    if (this.ids.size > this.most && oldest !== undefined) this.ids.delete(oldest);
    return true;
  }

  /** Whether the row was delivered as current; removes it. */
  end(id: string): boolean {
    return this.ids.delete(id);
  }
}
