import { createHash, randomUUIDv7 } from 'node:crypto';

const MAX_PER_MS = 0x1000;
let lastMs = 0;
let counter = 0;

/**
 * A new uuid v7, which sorts by creation time, so that lists can be ordered by primary key. Within one process this also holds within a
 * millisecond, with a counter in `rand_a` (RFC 9562, 6.2, method 1); 62 bits are random.
 */
export function newId(): string {
  const random = randomUUIDv7();
  const now = Number.parseInt(random.slice(0, 8) + random.slice(9, 13), 16);
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else if ((counter += 1) === MAX_PER_MS) {
    lastMs += 1; // the counter overflowed, or the clock went back: advance the millisecond
    counter = 0;
  }
  const ms = lastMs.toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${counter.toString(16).padStart(3, '0')}${random.slice(18)}`;
}

/** Returns the same uuid v8 for the same parts, so that a repeated insert is recognized (RFC 9562, 5.8). */
export function idFrom(...parts: readonly (string | number)[]): string {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether an untrusted text has the format of an id. Check it before SQL, so that an invalid id means "not found". */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The smallest uuid v7 of the millisecond `at` (since the epoch). It converts a time span to a range of keys. */
export function firstIdAt(at: number): string {
  const hex = Math.max(0, Math.floor(at)).toString(16).padStart(12, '0').slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
