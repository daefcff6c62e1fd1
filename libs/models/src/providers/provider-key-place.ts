import type { SecretPlace } from '#platform';

/** Where the key of a workspace's provider is sealed to. */
export function providerKeyPlace(provider: { readonly workspaceId: string; readonly id: string }): SecretPlace {
  return { workspaceId: provider.workspaceId, table: 'model_provider', row: provider.id, field: 'key_cipher' };
}
