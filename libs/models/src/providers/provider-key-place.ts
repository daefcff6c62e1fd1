import type { SealedColumn, SecretPlace } from '#platform';

/** Where the key of a workspace's provider is sealed to. */
export function providerKeyPlace(provider: { readonly workspaceId: string; readonly id: string }): SecretPlace {
  return { workspaceId: provider.workspaceId, table: 'model_provider', row: provider.id, field: 'key_cipher' };
}

/** The sealed keys of providers, for a change of the installation's secret. */
export const providerKeys: SealedColumn = { table: 'model_provider', column: 'key_cipher', placeOf: providerKeyPlace };
