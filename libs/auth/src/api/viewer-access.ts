import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, systemClock, type Timer } from '#platform';

import { asSubject } from '../abilities.js';
import { abilityOf } from '../ability.factory.js';
import { Authenticator } from '../authenticator.service.js';
import type { Principal } from '../principal.js';

/** The watched resource, and the viewer's principal. */
export interface Watched {
  readonly principal: Principal;
  readonly workspaceId: string;
  readonly createdBy: string | null;
}

export type LostReason = 'unauthorized' | 'token_expired';

/** The right to keep watching. */
export interface AccessWatch {
  /** Null: granted. At most a second old. To be asked before every batch. Rejects when it cannot be found out. */
  check(): Promise<LostReason | null>;
  /** Frees timer and subscription; may be called again. */
  stop(): void;
}

/** Timers of Node hold 31 bits of milliseconds. */
const longestTimerMs = 2_147_483_647;

/** Follows the rights of viewers for as long as they watch. */
@Injectable()
export class ViewerAccess {
  constructor(
    private readonly authenticator: Authenticator,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Calls `onLost` once when the right ends between two checks: the token expires, or members, roles or keys change. */
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
        () => undefined, // the next batch asks again, and ends the stream if it cannot be answered
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
