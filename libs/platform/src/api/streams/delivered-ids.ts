/** Maximum number of row ids that are kept per connection of a viewer. */
const maxDelivered = 5_000;

/**
 * Rows that were delivered to a viewer as current. The viewer also gets their end, regardless of its filter. Beyond the limit, the oldest are
 * removed.
 */
export class DeliveredIds {
  private readonly ids = new Set<string>();

  constructor(private readonly max: number = maxDelivered) {}

  /** Records a delivered row. Returns true if the row is new. */
  begin(id: string): boolean {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    const [oldest] = this.ids;
    if (this.ids.size > this.max && oldest !== undefined) this.ids.delete(oldest);
    return true;
  }

  /** Removes the row. Returns true if it was delivered as current. */
  end(id: string): boolean {
    return this.ids.delete(id);
  }
}
