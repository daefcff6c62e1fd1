import { Inject, Injectable } from '@nestjs/common';

import { InterruptsRepository } from '#jobs';
import { BUS, type Bus, LOGGER, type Logger } from '#platform';
import { type Look, RowActivity } from '#platform/api';

/** Maximum number of open requests that one snapshot compares. In a workspace with more, a snapshot has the newest. */
const maxOpen = 5_000;

/**
 * Detects which requests of a workspace were opened or settled, by comparing two snapshots of the ids of all open requests. Each snapshot is
 * an index scan.
 */
@Injectable()
export class InterruptActivity extends RowActivity<OpenRows> {
  constructor(
    private readonly interrupts: InterruptsRepository,
    @Inject(BUS) bus: Bus,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(bus, logger);
  }

  /**
   * Whether viewers will receive the settlement of this open request. A request that was opened after the last read is not known yet: if it
   * is still open at the next read, that read delivers it.
   */
  isKnown(workspaceId: string, id: string): boolean {
    const seen = this.seenIn(workspaceId);
    return seen !== undefined && isKnown(seen, id);
  }

  protected async look(workspaceId: string, before: OpenRows | undefined): Promise<Look<OpenRows>> {
    const seen = toOpenRows(await this.interrupts.openIds(workspaceId, maxOpen), maxOpen);
    const changed = before === undefined ? [] : changesOfOpen(before, seen);
    return { seen, changed: changed.map((id) => ({ id, topic: '' })) };
  }

  protected subscribeToHints(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    return [
      bus.subscribe('interrupts-changed', ({ workspaceId }) => {
        changed(workspaceId);
      }),
    ];
  }
}

/** A snapshot of the open rows of a workspace. */
interface OpenRows {
  readonly ids: ReadonlySet<string>;
  /** The oldest id of a full snapshot, otherwise empty. Such a snapshot shows nothing about older ids. */
  readonly oldest: string;
}

/** Makes a snapshot of the ids of the newest `max` open rows, newest first. */
export function toOpenRows(newestFirst: readonly string[], max: number): OpenRows {
  return { ids: new Set(newestFirst), oldest: newestFirst.length < max ? '' : (newestFirst.at(-1) ?? '') };
}

/** The rows that were opened or settled between two snapshots. A row that one of them cannot contain counts as unchanged. Pure. */
export function changesOfOpen(before: OpenRows, now: OpenRows): readonly string[] {
  return [...missing(now, before), ...missing(before, now)];
}

/** Whether a snapshot covers an open row: a later snapshot then detects that the row was settled. */
export function isKnown({ ids, oldest }: OpenRows, id: string): boolean {
  return ids.has(id) || id < oldest;
}

function missing({ ids }: OpenRows, other: OpenRows): readonly string[] {
  return [...ids].filter((id) => !isKnown(other, id));
}
