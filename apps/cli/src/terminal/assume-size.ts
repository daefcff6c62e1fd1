import type { Output } from './screen.js';

const USUAL = { columns: 80, rows: 24 };

/** Some terminals, such as those of containers, say that they have no columns and no rows: nothing could be laid out in them. */
export function assumeSize(stream: Output & { columns?: number; rows?: number }): void {
  for (const side of ['columns', 'rows'] as const) if (stream[side] === 0) stream[side] = USUAL[side];
}
