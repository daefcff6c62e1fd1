import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';

import { Config, LOGGER, type Logger, newId, rateLimited, systemClock, type Timer } from '#platform';

import { type SocketLease, UserSocketsRepository } from './user-sockets.repository.js';

const retryAfterSeconds = 5;
const leaseMs = 60_000;

const tooManySockets = (value: number) =>
  rateLimited(
    { name: 'SOCKETS_PER_USER', value, raisedBy: 'operator', counts: 'open WebSocket connections of a user' },
    retryAfterSeconds,
  );

/** The connections that this process has of one user. */
interface Opened {
  sockets: number;
  /** Connections that wait for their turn to be counted. */
  waiting: number;
  /** Writes of the count, one after the other, so that a late write cannot replace a newer count. */
  written: Promise<unknown>;
}

/**
 * Limits the open connections of a user, with all keys and in all api processes. Each process has a lease for its connections; the leases
 * of a killed process expire after a minute. Without the database, each process applies the limit alone.
 */
@Injectable()
export class UserSockets implements OnModuleDestroy {
  private readonly opened = new Map<string, Opened>();
  private readonly holder = { process: newId(), leaseMs };
  private renewing: Timer | undefined;

  constructor(
    private readonly repository: UserSocketsRepository,
    private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Users that are connected to this process. */
  get size(): number {
    return [...this.opened.values()].filter(({ sockets }) => sockets > 0).length;
  }

  /** Counts a connection of the user and returns a function that releases it and may be called again. Throws `rate_limited` over the limit. */
  async open(userId: string): Promise<() => void> {
    const { SOCKETS_PER_USER: limit } = this.config.values;
    const opened = this.opened.get(userId) ?? { sockets: 0, waiting: 0, written: Promise.resolve() };
    if (opened.waiting >= limit) throw tooManySockets(limit);
    this.opened.set(userId, opened);
    opened.waiting += 1;
    this.renewLater();
    const isAllowed = await this.inTurn(userId, opened, async () => {
      opened.waiting -= 1;
      const sockets = opened.sockets + 1;
      const isFree = sockets <= limit && (await this.tryToWrite({ userId, sockets }, limit));
      if (isFree) opened.sockets = sockets;
      return isFree;
    });
    if (!isAllowed) throw tooManySockets(limit);
    return this.closing(userId, opened);
  }

  onModuleDestroy(): void {
    this.renewing?.cancel();
    this.renewing = undefined;
  }

  /** Resolves when all changes so far are stored. */
  async settled(): Promise<void> {
    await Promise.all([...this.opened.values()].map(({ written }) => written));
  }

  private closing(userId: string, opened: Opened): () => void {
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      void this.inTurn(userId, opened, async () => {
        opened.sockets -= 1;
        await this.repository.renew(this.holder, [{ userId, sockets: opened.sockets }]).catch(this.warn);
      });
    };
  }

  /** Returns true if the database does not respond: the next renewal writes the count. */
  private tryToWrite(lease: SocketLease, limit: number): Promise<boolean> {
    return this.repository.open(this.holder, lease, limit).catch((error: unknown) => {
      this.warn(error);
      return true;
    });
  }

  private inTurn<T>(userId: string, opened: Opened, run: () => Promise<T>): Promise<T> {
    const written = opened.written.then(run).finally(() => {
      if (opened.sockets === 0 && opened.written === written) this.opened.delete(userId);
    });
    opened.written = written;
    return written;
  }

  /** Extends the leases of this process in one statement. It waits for its turn at each user, so it never replaces a newer count. */
  async renew(): Promise<void> {
    const all = [...this.opened];
    const renewed = Promise.all(all.map(([, { written }]) => written)).then(async () => {
      const leases = all.map(([userId, { sockets }]) => ({ userId, sockets }));
      await this.repository.renew(this.holder, leases).catch(this.warn);
    });
    await Promise.all(all.map(([userId, opened]) => this.inTurn(userId, opened, () => renewed)));
  }

  private renewLater(): void {
    this.renewing ??= systemClock.after(leaseMs / 3, () => {
      this.renewing = undefined;
      if (this.opened.size === 0) return;
      this.renewLater();
      Promise.all([this.renew(), this.repository.clear(leaseMs)]).catch(this.warn);
    });
  }

  private readonly warn = (error: unknown): void => {
    this.logger.warn({ err: error }, 'the open connections of users could not be written');
  };
}
