import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { PrismaService } from '#platform';

/** The newest wait of a conversation for its provider. */
export interface StoredOutage {
  /** The id of the interrupt. */
  readonly id: string;
  /** The first failure, ms since the epoch. */
  readonly since: number;
  readonly failures: number;
  /**
   * Number of committed rounds of the conversation when the request failed. A different number now means that the conversation has continued
   * since.
   */
  readonly committed: number;
  /** `retry` and `give_up`: a person's decision. `retried`: the timer's. Null: the wait is open. */
  readonly outcome: string | null;
}

/** A wait that a person ended with `give_up`. */
export interface GivenUp {
  readonly code: string;
  readonly message: string;
}

/** Reads the waits of a job's conversations for their model provider. */
@Injectable()
export class OutagesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** `place` identifies the conversation within its job. */
  async newest({ workspaceId, jobId }: JobRef, place: string): Promise<StoredOutage | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.interrupt.findFirst({
        where: { workspaceId, jobId, kind: 'provider_unavailable', request: { path: ['place'], equals: place } },
        orderBy: { id: 'desc' },
        select: { id: true, request: true, outcome: true },
      }),
    );
    if (row === null) return null;
    const request = row.request as unknown as Omit<StoredOutage, 'id' | 'outcome'>; // `ConversationOutage` wrote it
    const { since, failures, committed } = request;
    return { id: row.id, since, failures, committed, outcome: outcomeOf(row.outcome) };
  }

  async givenUp({ workspaceId, jobId }: JobRef): Promise<GivenUp | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.interrupt.findFirst({
        where: { workspaceId, jobId, kind: 'provider_unavailable', outcome: { path: ['outcome'], equals: 'give_up' } },
        select: { request: true },
      }),
    );
    if (row === null) return null;
    const { code, reason } = row.request as { readonly code: string; readonly reason: string }; // `ConversationOutage` wrote it
    return { code, message: reason };
  }
}

function outcomeOf(outcome: unknown): string | null {
  return (outcome as { readonly outcome?: string } | null)?.outcome ?? null; // every outcome has this member
}
