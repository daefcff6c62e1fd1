import { Injectable } from '@nestjs/common';

import type { PartRow } from '../events/commit-part.js';

/** A job whose turn in its thread begins. */
export interface Turn {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string;
  readonly messageId: string;
  readonly messageClientId: string | null;
  readonly createdBy: string | null;
  readonly input: unknown;
  /** The first free position of the thread. */
  readonly position: number;
}

/**
 * Builds the messages that enter the conversation when a job's turn begins: at its start, or when the jobs queued before it have ended.
 * One row per position, counted up from `turn.position`.
 */
export interface TurnStarter {
  readonly kind: string;
  rows(turn: Turn): readonly PartRow[];
}

/** The turn starters of higher libs, one per kind. */
@Injectable()
export class TurnMessages {
  private readonly byKind = new Map<string, TurnStarter>();

  register(starter: TurnStarter): void {
    this.byKind.set(starter.kind, starter);
  }

  rows(kind: string, turn: Turn): readonly PartRow[] {
    return this.byKind.get(kind)?.rows(turn) ?? [];
  }
}
