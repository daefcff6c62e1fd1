import { Inject, Injectable } from '@nestjs/common';

import { Config } from '../../config/config.js';
import { type RateLimit, rateLimited } from '../../errors/reached-limit.js';
import { shuttingDown } from '../errors/http.errors.js';

/** Why the server closes a stream before its job ends. */
export type CloseReason = 'unauthorized' | 'token_expired' | 'slow_viewer' | 'shutdown';

/** The principal and the job of a stream. */
export interface StreamOwner {
  readonly principal: string;
  readonly workspaceId: string;
  readonly jobId: string;
}

interface Entry {
  readonly owner: StreamOwner;
  readonly close: (reason: CloseReason) => void;
}

/** An acquired slot. `leave` releases it and may be called more than once. */
export interface StreamSlot {
  leave(): void;
}

/** After a time, the server asks clients to reconnect. Their reconnects are spread over this many ms per stream. */
const jitterMsPerStream = 2;
const longestJitterMs = 1_000;
const retryAfterSeconds = 5;

const streamCounts = {
  STREAMS_PER_PRINCIPAL: 'open streams of a key or user',
  STREAMS_PER_JOB: 'open streams of a job',
} as const;

function streamLimit(name: keyof typeof streamCounts, value: number): RateLimit {
  return { name, value, raisedBy: 'operator', counts: streamCounts[name] };
}

/** The live streams of this process, of every protocol: it counts and limits them, and closes them when the process stops. */
@Injectable()
export class OpenStreams {
  private readonly entries = new Set<Entry>();
  private readonly ofPrincipal = new Map<string, number>();
  private readonly ofJob = new Map<string, number>();
  private closing = false;

  constructor(@Inject(Config) private readonly config: Config) {}

  get size(): number {
    return this.entries.size;
  }

  /**
   * Throws `rate_limited` if the principal or the job has its maximum of streams (20, or `perPrincipal`, and 100 by default), and
   * `unavailable` after `closeAll`.
   */
  enter(owner: StreamOwner, close: (reason: CloseReason) => void, perPrincipal?: RateLimit): StreamSlot {
    const { STREAMS_PER_PRINCIPAL, STREAMS_PER_JOB } = this.config.values;
    const { principal, jobId } = owner;
    if (this.closing) throw shuttingDown();
    const ofPrincipal = perPrincipal ?? streamLimit('STREAMS_PER_PRINCIPAL', STREAMS_PER_PRINCIPAL);
    if ((this.ofPrincipal.get(principal) ?? 0) >= ofPrincipal.value) throw rateLimited(ofPrincipal, retryAfterSeconds);
    if ((this.ofJob.get(jobId) ?? 0) >= STREAMS_PER_JOB)
      throw rateLimited(streamLimit('STREAMS_PER_JOB', STREAMS_PER_JOB), retryAfterSeconds);
    const entry = { owner, close };
    this.entries.add(entry);
    add(this.ofPrincipal, principal, 1);
    add(this.ofJob, jobId, 1);
    return {
      leave: () => {
        if (!this.entries.delete(entry)) return;
        add(this.ofPrincipal, principal, -1);
        add(this.ofJob, jobId, -1);
      },
    };
  }

  /** Rejects new streams and closes all, each at a different moment, so that their clients do not reconnect in one wave. */
  async closeAll(reason: CloseReason): Promise<void> {
    this.closing = true;
    const entries = [...this.entries];
    const spreadMs = Math.min(longestJitterMs, entries.length * jitterMsPerStream);
    await Promise.all(
      entries.map(async ({ close }) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * spreadMs));
        close(reason);
      }),
    );
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const next = (counts.get(key) ?? 0) + change;
  if (next > 0) counts.set(key, next);
  else counts.delete(key);
}
