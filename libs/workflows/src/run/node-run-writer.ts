import { crashpoint } from '#platform';

import { isFinished, type NodeRunRow } from '../engine/node-run.js';
import { nodeFinished, nodeStarted } from './node-events.js';
import { nodeRunRow } from './node-run-part.repository.js';
import type { RunScope } from './running-node.js';

/** Writes node runs as they now stand, and tells viewers when one begins and ends. */
export class NodeRunWriter {
  constructor(private readonly scope: Pick<RunScope, 'run' | 'facts'>) {}

  /** It is about to work. `isKept`: its row is written before; else once, when it has ended. */
  begin(row: NodeRunRow, isKept: boolean): void {
    const { run, facts } = this.scope;
    if (facts.begin(row.ordinal)) run.append({ events: [nodeStarted(run.job.jobId, row)] });
    if (isKept) this.append(row);
    crashpoint('after-node-start');
  }

  store(row: NodeRunRow): void {
    const { run, facts } = this.scope;
    const { jobId } = run.job;
    const isOver = isFinished(row.status);
    if (isOver) crashpoint('before-node-end');
    const isReused = row.extra.isReused === true;
    const isNews = facts.begin(row.ordinal) && row.status !== 'skipped' && !isReused;
    if (isNews) run.append({ events: [nodeStarted(jobId, row)] });
    if (isOver) facts.end(row.ordinal);
    this.append(row);
    if (isOver && !isReused) run.append({ events: nodeFinished(jobId, row, facts.of(row.ordinal)), progress: true });
    if (isOver) crashpoint('after-node-end');
  }

  private append(row: NodeRunRow): void {
    const { run, facts } = this.scope;
    run.append({ rows: [nodeRunRow(run.job, row, facts.of(row.ordinal))] });
  }
}
