/** A map that is written on top of another one, which it never copies or changes. */
export class LayeredMap implements ReadonlyMap<string, string> {
  readonly own = new Map<string, string>();

  constructor(private readonly below: ReadonlyMap<string, string> | null) {}

  set(key: string, value: string): void {
    this.own.set(key, value);
  }

  get(key: string): string | undefined {
    return this.own.get(key) ?? this.below?.get(key);
  }

  has(key: string): boolean {
    return this.own.has(key) || this.below?.has(key) === true;
  }

  get size(): number {
    return this.merged().size;
  }

  forEach(visit: (value: string, key: string, map: ReadonlyMap<string, string>) => void): void {
    for (const [key, value] of this.merged()) visit(value, key, this);
  }

  entries(): MapIterator<[string, string]> {
    return this.merged().entries();
  }

  keys(): MapIterator<string> {
    return this.merged().keys();
  }

  values(): MapIterator<string> {
    return this.merged().values();
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.merged().entries();
  }

  private merged(): ReadonlyMap<string, string> {
    return this.below === null ? this.own : new Map([...this.below, ...this.own]);
  }
}
