import { Injectable } from '@nestjs/common';

import type { JobRun } from '#jobs';

import { parseDocument } from '../definition/document.js';
import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { DefinitionsRepository } from '../definitions/definitions.repository.js';
import type { RunPlan } from '../engine/run-plan.js';
import { type WorkflowInput, type WorkflowPin } from '../start/workflow-input.js';
import { definitionGone } from './run.errors.js';

/** Versions never change, so graphs are kept: as many as a worker has use for at a time. */
const mostKept = 200;

/** Makes the plan of a workflow job: its definition and those of its subflows, as they were pinned when it was accepted. */
@Injectable()
export class RunPlanLoader {
  /** By workspace, id and version, in the order of their last use. */
  private readonly graphs = new Map<string, WorkflowGraph>();

  constructor(private readonly definitions: DefinitionsRepository) {}

  /** Throws `workflow_gone`, `workflow_not_runnable`. */
  async planFor({ job }: JobRun, input: WorkflowInput): Promise<RunPlan> {
    const { workspaceId, workflowId, workflowVersion } = job;
    if (workflowId === null || workflowVersion === null) throw definitionGone();
    const pins = [{ id: workflowId, version: workflowVersion }, ...Object.values(input.subflows)];
    const graphs = await this.graphsOf(workspaceId, pins);
    const graphAt = (pin: WorkflowPin): WorkflowGraph => {
      const graph = graphs.get(keyOf(workspaceId, pin));
      if (graph === undefined) throw definitionGone();
      return graph;
    };
    const graph = graphAt({ id: workflowId, version: workflowVersion });
    return {
      graph,
      subflows: new Map(Object.entries(input.subflows).map(([id, pin]) => [id, graphAt(pin)])),
      input: input.prompt,
      sessionId: job.threadId ?? job.jobId,
      history: input.history,
      attachments: input.attachments,
      maxSteps: graph.stopPolicy.maxSteps ?? null,
      ...(input.resumeFrom === undefined ? {} : { resumeFrom: input.resumeFrom }),
    };
  }

  private async graphsOf(
    workspaceId: string,
    pins: readonly WorkflowPin[],
  ): Promise<ReadonlyMap<string, WorkflowGraph>> {
    const wanted = new Map(pins.map((pin) => [keyOf(workspaceId, pin), pin]));
    const missing = [...wanted].filter(([key]) => !this.graphs.has(key)).map(([, pin]) => pin);
    for (const { id, version, definition } of await this.definitions.pinned(workspaceId, missing)) {
      const parsed = parseDocument(JSON.parse(definition));
      if (parsed.ok) this.graphs.set(keyOf(workspaceId, { id, version }), toGraph(parsed.document));
    }
    const found = new Map<string, WorkflowGraph>();
    for (const key of wanted.keys()) {
      const graph = this.graphs.get(key);
      if (graph === undefined) continue;
      this.graphs.delete(key);
      this.graphs.set(key, graph);
      found.set(key, graph);
    }
    for (const oldest of [...this.graphs.keys()].slice(0, Math.max(0, this.graphs.size - mostKept))) {
      this.graphs.delete(oldest);
    }
    return found;
  }
}

function keyOf(workspaceId: string, { id, version }: WorkflowPin): string {
  return `${workspaceId} ${id} ${version}`;
}
