import { crashpoint } from '#platform';
import { projectResult } from '#tools';

import { LIMITS } from '../definition/limits.js';
import { isFinished, type NodeRunRow } from '../engine/node-run.js';
import type { RunCommand } from '../engine/run-command.js';
import type { LeaseContext } from './lease-context.js';
import { nodeFinished, nodeStarted } from './node-events.js';
import { nodeRunRow } from './node-run.part.js';

/** Writes the current state of node runs, and publishes events when one begins and ends. */
export class NodeRunWriter {
  constructor(private readonly context: Pick<LeaseContext, 'run' | 'facts'>) {}

  /** Call it before the node runs. `isNew`: the row is not stored yet. */
  begin(row: NodeRunRow, isNew: boolean): void {
    const { run, facts } = this.context;
    if (facts.begin(row.ordinal)) run.append({ events: [nodeStarted(run.job.jobId, row)] });
    // Without the row, a later worker publishes the start again. If the node ends before the next commit, only its last row is written.
    if (isNew) this.append(facts.completed(row));
    crashpoint('after-node-start');
  }

  /** False: the text limit of the run is exceeded; this row is truncated. */
  store(ended: NodeRunRow): boolean {
    const { run, facts } = this.context;
    const given = facts.completed(ended);
    const isWithin = facts.addText(given) <= LIMITS.runText;
    const row = isWithin ? given : withCutTexts(given);
    const { jobId } = run.job;
    const isOver = isFinished(row.status);
    if (isOver) crashpoint('before-node-end');
    const isReused = row.extra.isReused === true;
    const isNewlyStarted = facts.begin(row.ordinal) && row.status !== 'skipped' && !isReused;
    if (isNewlyStarted) run.append({ events: [nodeStarted(jobId, row)] });
    if (isOver) facts.end(row.ordinal);
    this.append(row);
    // In the same commit as the row: without the row, a later worker runs the hooks again.
    if (isOver) run.append({ events: facts.takeChanges(row.ordinal) });
    if (isOver && !isReused) run.append({ events: nodeFinished(jobId, row, facts.of(row.ordinal)), progress: true });
    if (isOver) crashpoint('after-node-end');
    return isWithin;
  }

  iterate({ key, iteration, of }: Extract<RunCommand, { type: 'iterate' }>): void {
    const body = { nodeId: key.nodeId, iteration, maxIterations: of };
    this.context.run.append({ events: [{ type: 'loop-iteration', body }] });
  }

  warn({ key, code, text }: Extract<RunCommand, { type: 'warn' }>): void {
    this.context.run.append({ events: [{ type: 'warning', body: { code, text, nodeId: key.nodeId } }] });
  }

  private append(row: NodeRunRow): void {
    const { run, facts } = this.context;
    run.append({ rows: [nodeRunRow(run.job, row, facts.of(row.ordinal))] });
  }
}

function withCutTexts(row: NodeRunRow): NodeRunRow {
  const output = row.output === null ? null : projectResult(row.output, 'ui');
  return { ...row, input: projectResult(row.input, 'ui'), output };
}
