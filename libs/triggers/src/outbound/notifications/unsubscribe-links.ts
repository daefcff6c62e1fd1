import { Injectable } from '@nestjs/common';

import { Config, isId, Secret, SecretBox } from '#platform';

import { channelPlace } from './notification-channel.js';
import { NotificationChannelsRepository } from './notification-channels.repository.js';

/** Links by which the receiver of e-mails ends them without signing in (RFC 8058). They do not expire. */
@Injectable()
export class UnsubscribeLinks {
  constructor(
    private readonly channels: NotificationChannelsRepository,
    private readonly secretBox: SecretBox,
    private readonly config: Config,
  ) {}

  /** Null: PUBLIC_URL is not set, so the e-mail has no link. */
  of(workspaceId: string, id: string): string | null {
    const { PUBLIC_URL } = this.config.values;
    if (PUBLIC_URL === undefined) return null;
    const proof = this.secretBox.seal(new Secret('unsubscribe'), channelPlace(workspaceId, id, 'unsubscribe'));
    const token = [workspaceId, id, Buffer.from(proof).toString('base64url')].join('.');
    return `${PUBLIC_URL.replace(/\/+$/, '')}/api/notification-channels/unsubscribe/${token}`;
  }

  /** Disables the channel of a link. Returns whether the link is valid and its channel exists. */
  async use(token: string): Promise<boolean> {
    const [workspaceId = '', id = '', proof = ''] = token.slice(0, 500).split('.');
    if (!isId(workspaceId) || !isId(id)) return false;
    try {
      this.secretBox.open(Buffer.from(proof, 'base64url'), channelPlace(workspaceId, id, 'unsubscribe'));
    } catch {
      return false; // sealed for another channel, or not by this server
    }
    return this.channels.unsubscribe({ workspaceId, id });
  }
}
