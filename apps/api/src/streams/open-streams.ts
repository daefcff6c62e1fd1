import { Inject, Injectable } from '@nestjs/common';

import { Config } from '#platform';

import { rateLimited, shuttingDown } from '../errors/http.errors.js';

/** Why a live stream ends before its job does. */
export type CloseReason = 'unauthorized' | 'token_expired' | 'slow_viewer' | 'shutdown';

/** Whose stream it is, and of which job. */
export interface StreamOwner {
  readonly principal: string;
  readonly workspaceId: string;
  readonly jobId: string;
}

interface Entry {
  readonly owner: StreamOwner;
  readonly close: (reason: CloseReason) => void;
}

/** A slot that was taken; `leave` gives it back, once or more often. */
export interface StreamSlot {
  leave(): void;
}

/** Streams are asked to come back after a while; this many ms a stream spread their return. */
const jitterMsPerStream = 2;
const longestJitterMs = 1_000;
const retryAfterSeconds = 5;

/** The live streams of this process, whatever their protocol: counted, limited, and closed when it stops. */
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
   * Throws `rate_limited` when the principal or the job has its most streams already (20, or `perPrincipal`, and 100 by
   * default), `unavailable` once all are being closed.
   */
  enter(owner: StreamOwner, close: (reason: CloseReason) => void, perPrincipal?: number): StreamSlot {
    const { STREAMS_PER_PRINCIPAL, STREAMS_PER_JOB } = this.config.values;
    const { principal, jobId } = owner;
    const most = perPrincipal ?? STREAMS_PER_PRINCIPAL;
    if (this.closing) throw shuttingDown();
    if ((this.ofPrincipal.get(principal) ?? 0) >= most) throw rateLimited(retryAfterSeconds, most);
    if ((this.ofJob.get(jobId) ?? 0) >= STREAMS_PER_JOB) throw rateLimited(retryAfterSeconds, STREAMS_PER_JOB);
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

  /** Closes all, and lets nobody in any more; each at a moment of its own, so that their clients do not come back in one wave. */
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
