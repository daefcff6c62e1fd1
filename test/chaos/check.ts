import type { TestDatabase } from '../harness/database.js';
import type { LedgerEntry } from './tool-ledger.js';
import type { Viewer } from './viewer.js';

/** What was seen from outside. */
export interface Seen {
  readonly viewers: readonly Viewer[];
  readonly ledger: { readonly calls: readonly LedgerEntry[]; readonly effects: readonly LedgerEntry[] };
}

/** Gives what is wrong, each sentence with the checker's name in front. */
export type Check = (database: TestDatabase, seen: Seen) => Promise<string[]>;

/** Across all workspaces. */
export async function rows<Row extends object>(database: TestDatabase, sql: string): Promise<Row[]> {
  return (await database.postgres.workerPool.query<Row>(sql)).rows;
}
