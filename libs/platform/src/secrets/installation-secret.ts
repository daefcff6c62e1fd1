import { hkdfSync } from 'node:crypto';

import { Secret } from './secret.js';
import { SecretBox } from './secret-box.js';

/** What a process holds of the installation's secrets: the root and those before it, or only the key of tool processes. */
export type HeldSecrets =
  | { readonly kind: 'root'; readonly secret: string; readonly previous: readonly string[] }
  | { readonly kind: 'tools'; readonly toolsKey: string; readonly previous: readonly string[] };

/**
 * The key of isolated tool processes: HKDF-SHA256 (RFC 5869) of the installation's secret, base64url. It opens the secrets that
 * workspaces keep for their tools and is the root of the password of `nightshift_tools`; the installation's secret, provider keys
 * and API keys cannot be computed from it.
 */
export function toolsKeyOf(secret: string): string {
  return Buffer.from(hkdfSync('sha256', secret, 'nightshift', 'tool-processes', 32)).toString('base64url');
}

/** Seals and opens what workspaces keep for their tools. Tool processes have this box and no other. */
export class ToolSecretBox extends SecretBox {}

/** The box of the root secrets; one that opens nothing in a tool process. */
export function rootBox(held: HeldSecrets): SecretBox {
  if (held.kind === 'tools') return new SecretBox(null);
  return new SecretBox(new Secret(held.secret), secretsOf(held.previous));
}

/** The box of tool secrets. A process with the root secret also opens those that were sealed before there was a key of their own. */
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
