import type { SealedColumn, SecretPlace } from '#platform';

/** The row and field for which the key of a workspace's provider is encrypted. */
export function providerKeyPlace(provider: { readonly workspaceId: string; readonly id: string }): SecretPlace {
  return { workspaceId: provider.workspaceId, table: 'model_provider', row: provider.id, field: 'key_cipher' };
}

/** The encrypted keys of providers, which are encrypted again when the installation's secret changes. */
export const providerKeys: SealedColumn = { table: 'model_provider', column: 'key_cipher', placeOf: providerKeyPlace };
