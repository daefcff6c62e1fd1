/** What a sweep looks for and does. */
export interface Sweep<Item> {
  /** Up to `limit` items without those whose ids are in `without`. */
  readonly find: (limit: number, without: readonly string[]) => Promise<readonly Item[]>;
  /** A uuid. */
  readonly idOf: (item: Item) => string;
  readonly act: (item: Item) => Promise<void>;
  readonly onError: (error: unknown, item: Item) => void;
}

const atOnce = 100;
const most = 10_000;

/** Acts once on each item, up to 10,000. An item that fails does not keep the others from their turn. */
export async function sweepEach<Item>({ find, idOf, act, onError }: Sweep<Item>): Promise<void> {
  const tried: string[] = [];
  while (tried.length < most) {
    const found = await find(atOnce, tried);
    for (const item of found) {
      tried.push(idOf(item));
      await act(item).catch((error: unknown) => {
        onError(error, item);
      });
    }
    if (found.length < atOnce) return;
  }
}
