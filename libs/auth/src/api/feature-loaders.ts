import DataLoader from 'dataloader';

import type { Scope } from '#platform';

import type { GraphqlContext } from './graphql-context.js';

/**
 * The data loaders of one feature: one statement reads the values of many rows. Each operation gets its own loaders, which read only rows
 * that its principal may read.
 */
export abstract class FeatureLoaders<Loaders> {
  /** The loaders of this operation. Throws like `context.member`. */
  of(context: GraphqlContext): Loaders {
    return context.remember(this, () => this.make(context.scope));
  }

  protected abstract make(scope: Scope): Loaders;
}

export const maxBatchSize = 500;

/** Loads rows by their id. */
export function byId<T extends { readonly id: string }>(load: (ids: readonly string[]) => Promise<readonly T[]>) {
  return new DataLoader<string, T | null>(
    async (ids) => {
      const found = new Map((await load(ids)).map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxBatchSize },
  );
}

/** Loads the rows of each owner; `ownerOf` returns the id of a row's owner. */
export function byOwner<T>(
  load: (ids: readonly string[]) => Promise<readonly T[]>,
  ownerOf: (row: T) => string | null,
) {
  return new DataLoader<string, readonly T[]>(
    async (ids) => {
      const found = Map.groupBy(await load(ids), ownerOf);
      return ids.map((id) => found.get(id) ?? []);
    },
    { maxBatchSize },
  );
}

/** Loads a value for each id; an id without a value gets `absent`. */
export function valueOf<T>(load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>, absent: T) {
  return new DataLoader<string, T>(
    async (ids) => {
      const found = await load(ids);
      return ids.map((id) => found.get(id) ?? absent);
    },
    { maxBatchSize },
  );
}
