import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, systemClock, type Timer } from '#platform';
import type { CloseReason } from '#platform/api';

import { RefusalDelay } from '../../refusals/refusal-delay.js';
import { ContextFactory, type Entrance } from '../context-factory.js';
import type { SocketSession } from './socket-session.js';

/** Interval of the periodic check (ms): the longest delay if a hint is lost. */
const recheckMs = 60_000;

/** A connection whose credentials are watched until it closes. */
export interface WatchedConnection {
  /** The connected caller; updated by the watch. */
  who?: Entrance;
}

/**
 * Closes connections, active or idle, whose credentials are no longer valid: a revoked key, a removed member, an expired token. It also
 * watches connections that entered no workspace because they named a wrong one.
 */
@Injectable()
export class SocketAccess {
  constructor(
    private readonly contexts: ContextFactory,
    private readonly refusals: RefusalDelay,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Calls `onLost` once when the credentials of `connection.who` end. Returns a function that stops the watch and may be called again. */
  watch(connection: WatchedConnection, onLost: (reason: CloseReason) => void): () => void {
    let timer: Timer | undefined;
    let stopped = false;
    const stop = () => {
      stopped = true;
      timer?.cancel();
      for (const leave of leaves) leave();
    };
    const recheck = () => {
      this.refresh(connection).then(
        (lost) => {
          if (stopped || lost === null) return;
          stop();
          onLost(lost);
        },
        () => undefined, // the database does not respond: each operation checks again, and so does the timer
      );
    };
    const schedule = () => {
      const expiresAt = connection.who?.identity.expiresAt ?? null;
      const leftMs = expiresAt === null ? recheckMs : Math.max(expiresAt - systemClock.now(), 0);
      timer = systemClock.after(Math.min(leftMs, recheckMs), () => {
        recheck();
        if (!stopped) schedule();
      });
    };
    const leaves = [
      this.bus.subscribe('access-changed', ({ workspaceId }) => {
        const own = connection.who?.identity.workspaceId ?? null;
        if (own === null || own === workspaceId) recheck();
      }),
      this.bus.onGap(recheck),
    ];
    schedule();
    return stop;
  }

  /** Resolves when the server may close a connection whose `connection_init` is rejected; `false`: close it without a close frame. */
  async waitBeforeRefusal({ who, request }: SocketSession): Promise<boolean> {
    return who !== undefined || this.refusals.wait(request);
  }

  private async refresh(connection: WatchedConnection): Promise<CloseReason | null> {
    if (connection.who === undefined) return null;
    const { expiresAt } = connection.who.identity;
    const fresh = await this.contexts.refresh(connection.who);
    if (fresh === null) return expiresAt !== null && expiresAt <= systemClock.now() ? 'token_expired' : 'unauthorized';
    connection.who = fresh;
    return null;
  }
}
