import type { TestDatabase } from '../harness/database.js';
import type { LedgerEntry } from './tool-ledger.js';
import type { Viewer } from './viewer.js';

/** The observations of viewers and the tool ledger. */
export interface Seen {
  readonly viewers: readonly Viewer[];
  readonly ledger: { readonly calls: readonly LedgerEntry[]; readonly effects: readonly LedgerEntry[] };
}

/** Returns the violations, each a sentence that begins with the name of the check. */
export type Check = (database: TestDatabase, seen: Seen) => Promise<string[]>;

/** Across all workspaces. */
export async function rows<Row extends object>(database: TestDatabase, sql: string): Promise<Row[]> {
  return (await database.postgres.workerPool.query<Row>(sql)).rows;
}
