/** Stops the run's Postgres, if any spec file asked for one. */
export default async function globalTeardown(): Promise<void> {
  const host: unknown = Reflect.get(globalThis, 'nightshiftPostgresHost');
  if (isHost(host)) await host.close();
}

function isHost(value: unknown): value is { close(): Promise<void> } {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}
