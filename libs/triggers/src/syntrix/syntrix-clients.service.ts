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

  /** `preIssued`: the token of the delivery. Throws `secret_missing`. */
  async open(
    { workspaceId, settings }: SyntrixConnection,
    { preIssued, signal }: { readonly preIssued: Secret | null; readonly signal: AbortSignal },
  ): Promise<SyntrixClient> {
    const { auth, token: name } = settings;
    const own = auth === 'token' && name !== null ? await this.secretOf(workspaceId, name) : null;
    const usesPreIssued = own === null && auth === 'preissued' && preIssued !== null;
    const token =
      own !== null ? { value: own, preIssued: false } : usesPreIssued ? { value: preIssued, preIssued: true } : null;
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
