import { Injectable } from '@nestjs/common';

import { type Clock, isId, Secret, SecretBox, type SecretPlace, systemClock } from '#platform';

/** What a token opens: the own rows of one thread, in the name of a trigger. */
export interface TokenScope {
  readonly workspaceId: string;
  /** The server id of the trigger. */
  readonly triggerId: string;
  readonly database: string;
  readonly threadId: string;
}

const lifeMs = 10 * 60_000;
const longest = 1_000;

/** Tokens that are sent with deliveries, so that the receiver can read the thread. They are sealed, not stored: no row has to be found or deleted. */
@Injectable()
export class PreIssuedTokens {
  /** Tests replace it. */
  clock: Clock = systemClock;

  constructor(private readonly secretBox: SecretBox) {}

  mint({ workspaceId, triggerId, database, threadId }: TokenScope): Secret {
    const content = JSON.stringify([database, threadId, this.clock.now() + lifeMs]);
    const sealed = this.secretBox.seal(new Secret(content), placeOf(workspaceId, triggerId));
    return new Secret(['nst', workspaceId, triggerId, Buffer.from(sealed).toString('base64url')].join('.'));
  }

  /** Null: not a token of this server, or expired. */
  open(token: string): TokenScope | null {
    if (token.length > longest) return null;
    const [kind, workspaceId = '', triggerId = '', sealed = '', ...more] = token.split('.');
    if (kind !== 'nst' || more.length > 0 || !isId(workspaceId) || !isId(triggerId)) return null;
    const content = this.contentOf(sealed, placeOf(workspaceId, triggerId));
    if (content === null) return null;
    const [database, threadId, until] = content;
    return this.clock.now() < until ? { workspaceId, triggerId, database, threadId } : null;
  }

  private contentOf(sealed: string, place: SecretPlace): readonly [string, string, number] | null {
    try {
      const content = this.secretBox.open(Buffer.from(sealed, 'base64url'), place).reveal();
      return JSON.parse(content) as readonly [string, string, number]; // sealed by `mint` alone
    } catch {
      return null; // sealed for another trigger, or not by this server
    }
  }
}

function placeOf(workspaceId: string, row: string): SecretPlace {
  return { workspaceId, table: 'trigger_definition', row, field: 'pre-issued-token' };
}
