/**
 * A map as the object that expressions read: members are looked up on access, so values that an expression does not name are not
 * copied. Read-only.
 */
export function lazyMembers<Value>(values: ReadonlyMap<string, Value>): Readonly<Record<string, Value>> {
  const has = (name: PropertyKey): name is string => typeof name === 'string' && values.has(name);
  return new Proxy<Record<string, Value>>(
    {},
    {
      has: (_, name) => has(name),
      get: (target, name): unknown => (has(name) ? values.get(name) : Reflect.get(target, name)),
      ownKeys: () => [...values.keys()],
      getOwnPropertyDescriptor: (_, name) =>
        has(name) ? { value: values.get(name), enumerable: true, configurable: true, writable: false } : undefined,
    },
  );
}
