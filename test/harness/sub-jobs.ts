import { SubJobs } from '#tools';
import { WorkflowsService } from '#workflows';

import { eventually } from './eventually.js';
import { openWorkflowStage, type WorkflowStage } from './workflow-stage.js';
import type { SketchedNode } from './workflows.js';

type Definition = readonly [nodes: Readonly<Record<string, SketchedNode>>, edges: readonly string[], meta?: object];

/** A job as stored in its row. */
export interface JobLine {
  readonly id: string;
  readonly status: string;
  readonly depth: number;
  readonly parent: string | null;
  readonly root: string | null;
  readonly reason: string | null;
}

/** A stage whose workflows can be tools, with the handlers of sub-jobs. */
export interface SubJobStage extends WorkflowStage {
  /** Publishes a workflow under this name and offers it; gives its id. */
  offer(name: string, ...definition: Definition): Promise<string>;
  /** The jobs that calls of this job started, once `count` of them have the status; oldest first. */
  children(jobId: string, count: number, status?: string): Promise<readonly JobLine[]>;
  line(jobId: string): Promise<JobLine>;
  /** Runs one sweep. */
  sweep(): Promise<void>;
}

const lineSql = `SELECT id, status, depth, parent_job_id AS parent, root_job_id AS root, reason FROM job`;

/** `hints` false: nothing looks after sub-jobs until `sweep` or `SubJobs.start` is called. */
export async function openSubJobStage({ hints = true, env = {} } = {}): Promise<SubJobStage> {
  const stage = await openWorkflowStage(env);
  const { app } = stage.engine;
  if (hints) await app.get(SubJobs).start();
  const { owner } = stage.people;
  return {
    ...stage,
    offer: async (name, ...[nodes, edges, meta = {}]) => {
      const id = await stage.publish(nodes, edges, { name, ...meta });
      await app.get(WorkflowsService).offerAsTool(owner, id, true);
      return id;
    },
    children: (jobId, count, status) =>
      eventually(`${count} children are ${status ?? 'there'}`, async () => {
        const where = 'WHERE parent_job_id = $1 AND ($2::text IS NULL OR status = $2) ORDER BY id';
        const rows = await stage.rows<JobLine>(`${lineSql} ${where}`, [jobId, status ?? null]);
        return rows.length === count ? rows : undefined;
      }),
    line: async (jobId) => {
      const [row] = await stage.rows<JobLine>(`${lineSql} WHERE id = $1`, [jobId]);
      if (row === undefined) throw new Error('no such job');
      return row;
    },
    sweep: async () => {
      await app.get(SubJobs).sweep(null);
    },
    close: async () => {
      await app.get(SubJobs).stop();
      await stage.close();
    },
  };
}
