import DataLoader from 'dataloader';

import type { Scope } from '#platform';

import type { GraphqlContext } from './graphql-context.js';

/**
 * The batched reads of one feature: any number of rows that need theirs share one statement. Each operation gets loaders of its
 * own, bound to what its principal may read.
 */
export abstract class FeatureLoaders<Loaders> {
  /** The loaders of this operation. Throws as `context.member` does. */
  of(context: GraphqlContext): Loaders {
    return context.remember(this, () => this.make(context.scope));
  }

  protected abstract make(scope: Scope): Loaders;
}

export const maxBatchSize = 500;

/** Rows by their id. */
export function byId<T extends { readonly id: string }>(load: (ids: readonly string[]) => Promise<readonly T[]>) {
  return new DataLoader<string, T | null>(
    async (ids) => {
      const found = new Map((await load(ids)).map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxBatchSize },
  );
}

/** The rows that belong to an id, which `ownerOf` returns. */
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

/** A value for each id; `absent` for ids without one. */
export function valueOf<T>(load: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>, absent: T) {
  return new DataLoader<string, T>(
    async (ids) => {
      const found = await load(ids);
      return ids.map((id) => found.get(id) ?? absent);
    },
    { maxBatchSize },
  );
}
