import { hkdfSync } from 'node:crypto';

import { Secret } from './secret.js';
import { SecretBox } from './secret-box.js';

/** The secrets of a process: the root secret and earlier ones, or only the key of tool processes. */
export type HeldSecrets =
  | { readonly kind: 'root'; readonly secret: string; readonly previous: readonly string[] }
  | { readonly kind: 'tools'; readonly toolsKey: string; readonly previous: readonly string[] };

/**
 * The key of isolated tool processes: HKDF-SHA256 (RFC 5869) of the installation's secret, base64url. It opens the secrets that workspaces
 * store for their tools, and the password of `nightshift_tools` is derived from it. The installation's secret, provider keys and API keys
 * cannot be computed from it.
 */
export function toolsKeyOf(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, 'nightshift', 'tool-processes', 32)).toString('base64url');
}

/** Seals and opens the secrets that workspaces store for their tools. Tool processes have only this box. */
export class ToolSecretBox extends SecretBox {}

/** The box of the root secrets. In a tool process it opens nothing. */
export function rootBox(held: HeldSecrets): SecretBox {
  if (held.kind === 'tools') return new SecretBox(null);
  return new SecretBox(new Secret(held.secret), secretsOf(held.previous));
}

/** The box of tool secrets. With the root secret, it also opens values that were sealed before the separate key existed. */
export function toolBox(held: HeldSecrets): ToolSecretBox {
  if (held.kind === 'tools') return new ToolSecretBox(new Secret(held.toolsKey), secretsOf(held.previous));
  const { secret, previous } = held;
  return new ToolSecretBox(
    new Secret(toolsKeyOf(secret)),
    secretsOf([...previous.map((one) => toolsKeyOf(one)), secret, ...previous]),
  );
}

function secretsOf(texts: readonly string[]): Secret[] {
  return texts.map((text) => new Secret(text));
}
