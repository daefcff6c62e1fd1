import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, systemClock, type Timer } from '#platform';

import { asSubject } from '../abilities.js';
import { abilityOf } from '../ability.factory.js';
import { Authenticator } from '../authentication/authenticator.service.js';
import type { Principal } from '../principal.js';

/** The viewed resource, and the viewer's principal. */
export interface Watched {
  readonly principal: Principal;
  readonly workspaceId: string;
  readonly createdBy: string | null;
}

export type LostReason = 'unauthorized' | 'token_expired';

/** Tracks whether a viewer may keep reading. */
export interface AccessWatch {
  /** Null: the viewer still has the right. At most a second old. Call it before every batch. Rejects if the database does not respond. */
  check(): Promise<LostReason | null>;
  /** Frees the timer and the subscription; may be called again. */
  stop(): void;
}

/** The longest delay of a timer in Node: 31 bits of milliseconds. */
const longestTimerMs = 2_147_483_647;

/** Watches the rights of viewers as long as they view something. */
@Injectable()
export class ViewerAccess {
  constructor(
    private readonly authenticator: Authenticator,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Calls `onLost` once if the right ends between two checks: the token expires, or members, roles or keys change. */
  watch(watched: Watched, onLost: (reason: LostReason) => void): AccessWatch {
    let stopped = false;
    const check = () => this.check(watched);
    const stop = () => {
      stopped = true;
      expiry?.cancel();
      off();
    };
    const lose = (reason: LostReason) => {
      if (stopped) return;
      stop();
      onLost(reason);
    };
    const recheck = () => {
      check().then(
        (reason) => {
          if (reason !== null) lose(reason);
        },
        () => undefined, // the next batch checks again, and a failure then ends the stream
      );
    };
    const off = this.bus.subscribe('access-changed', ({ workspaceId }) => {
      if (workspaceId === watched.workspaceId) recheck();
    });
    let expiry: Timer | undefined;
    const armExpiry = () => {
      const { expiresAt } = watched.principal;
      if (expiresAt === null) return;
      const leftMs = expiresAt - systemClock.now();
      expiry = systemClock.after(Math.min(Math.max(leftMs, 0), longestTimerMs), () => {
        if (systemClock.now() >= expiresAt) lose('token_expired');
        else armExpiry();
      });
    };
    armExpiry();
    return { check, stop };
  }

  private async check({ principal, workspaceId, createdBy }: Watched): Promise<LostReason | null> {
    const fresh = await this.authenticator.recheck(principal);
    if (fresh === null) {
      const { expiresAt } = principal;
      return expiresAt !== null && expiresAt <= systemClock.now() ? 'token_expired' : 'unauthorized';
    }
    return abilityOf(fresh).can('read', asSubject('Job', { workspaceId, createdBy })) ? null : 'unauthorized';
  }
}
