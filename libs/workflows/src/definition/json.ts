/** An object of a JSON text. What it has are its own members; nothing is ever read through its prototype. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of its own, else undefined: `constructor` is nothing that every object has. */
export function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** RFC 6901. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** How many members and entries a value has in all, and how deep they are nested; looks no deeper than `deepest`. */
export function extentOf(value: unknown, deepest: number): { readonly depth: number; readonly values: number } {
  let level: readonly object[] = [value].filter(isContainer);
  let depth = 0;
  let values = 0;
  for (; level.length > 0 && depth <= deepest; depth += 1) {
    const next: object[] = [];
    for (const container of level)
      for (const member of Object.values(container)) {
        values += 1;
        if (isContainer(member)) next.push(member);
      }
    level = next;
  }
  return { depth, values };
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
