import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';

import type { WorkflowGraph } from '../definition/graph.js';
import { type VersionInUse, VersionsInUse } from '../definitions/versions-in-use.js';
import type { RunPlan } from '../engine/run-plan.js';
import type { WorkflowInput } from '../start/workflow-input.js';
import { definitionGone } from './run.errors.js';

/** Makes the plan of a workflow job: its definition and those of its subflows, as they were pinned when it was accepted. */
@Injectable()
export class RunPlanLoader {
  constructor(private readonly versions: VersionsInUse) {}

  /** Throws `workflow_gone`, `workflow_not_runnable`. */
  async planFor({ job }: JobRun, input: WorkflowInput): Promise<RunPlan> {
    const { workspaceId, workflowId, workflowVersion } = job;
    if (workflowId === null || workflowVersion === null) throw definitionGone();
    const refs = Object.keys(input.subflows);
    const pins = [{ id: workflowId, version: workflowVersion }, ...Object.values(input.subflows)];
    const [graph, ...subflows] = (await this.versions.load(workspaceId, pins)).map(graphOf);
    if (graph === undefined) throw definitionGone();
    return {
      graph,
      subflows: new Map(subflows.map((subflow, i) => [refs[i] ?? '', subflow])),
      input: input.prompt,
      sessionId: job.threadId ?? job.jobId,
      history: input.history,
      attachments: input.attachments,
      ...(input.inputs === undefined ? {} : { inputs: new Map(Object.entries(input.inputs)) }),
      maxSteps: graph.stopPolicy.maxSteps ?? null,
      ...(input.resumeFrom === undefined ? {} : { resumeFrom: input.resumeFrom }),
    };
  }
}

function graphOf(version: VersionInUse | undefined): WorkflowGraph {
  if (version === undefined) throw definitionGone();
  return version.graph;
}
