import { Injectable } from '@nestjs/common';

import { OutboundHostsRepository, WorkspaceSecrets } from '#integrations';
import { AppError, GuardedFetch, type Secret, systemClock } from '#platform';

import { SyntrixClient } from './syntrix-client.js';
import type { SyntrixConnection } from './syntrix-connection.js';

/** Opens clients of connections, with their secrets. */
@Injectable()
export class SyntrixClients {
  constructor(
    private readonly fetch: GuardedFetch,
    private readonly hosts: OutboundHostsRepository,
    private readonly secrets: WorkspaceSecrets,
  ) {}

  /** `preIssued`: the token of the delivery, for a connection without its own. Throws `secret_missing`. */
  async open(
    { workspaceId, settings }: SyntrixConnection,
    { preIssued, signal }: { readonly preIssued: Secret | null; readonly signal: AbortSignal },
  ): Promise<SyntrixClient> {
    const own = settings.token === null ? null : await this.secretOf(workspaceId, settings.token);
    const value = own ?? preIssued;
    const token = value === null ? null : { value, preIssued: own === null };
    const hosts = await this.hosts.of(workspaceId);
    return new SyntrixClient({ ...settings, token }, { fetch: this.fetch, clock: systemClock, signal, hosts });
  }

  /** The secret that signs deliveries; null: the connection has none. Throws `secret_missing`. */
  async signingSecret({ workspaceId, settings: { secret } }: SyntrixConnection): Promise<Secret | null> {
    return secret === null ? null : this.secretOf(workspaceId, secret);
  }

  private async secretOf(workspaceId: string, name: string): Promise<Secret> {
    const secret = (await this.secrets.resolve(workspaceId, [name])).get(name);
    if (secret !== undefined) return secret;
    const message = `The secret "${name}" of the Syntrix connection is not set in this workspace. An admin can set it.`;
    throw new AppError({ code: 'secret_missing', message });
  }
}
