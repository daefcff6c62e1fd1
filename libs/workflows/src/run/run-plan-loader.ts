import { Injectable } from '@nestjs/common';

import { type AgentPreset, AgentsService } from '#chat';
import type { JobRun } from '#jobs';
import { AppError, defined, mapInSlices } from '#platform';

import type { WorkflowGraph } from '../definition/graph.js';
import { withAgents } from '../definition/with-agents.js';
import { toNodeAgent } from '../definitions/to-node-agent.js';
import { type VersionInUse, VersionsInUse } from '../definitions/versions-in-use.js';
import type { WorkflowInput } from '../definitions/workflow-input.js';
import type { RunPlan } from '../engine/run-plan.js';

/** Creates the plan of a workflow job from its definition and its subflows, in the versions pinned at its start. */
@Injectable()
export class RunPlanLoader {
  constructor(
    private readonly versions: VersionsInUse,
    private readonly agents: AgentsService,
  ) {}

  /** The pinned agents, by the names that the nodes use. Throws `agent_gone`. */
  async agentsOf({ job }: JobRun, { agents = {} }: WorkflowInput): Promise<ReadonlyMap<string, AgentPreset>> {
    const pins = Object.entries(agents);
    if (pins.length === 0) return new Map();
    const presets = await this.agents.pinned(
      job.workspaceId,
      pins.map(([, pin]) => pin),
    );
    return new Map(pins.flatMap(([name], i) => (presets[i] === undefined ? [] : [[name, presets[i]] as const])));
  }

  /** Throws `workflow_gone`, `workflow_not_runnable`. */
  async planFor({ job }: JobRun, input: WorkflowInput, agents: ReadonlyMap<string, AgentPreset>): Promise<RunPlan> {
    const { workspaceId, workflowId, workflowVersion } = job;
    if (workflowId === null || workflowVersion === null) throw definitionGone();
    const refs = Object.keys(input.subflows);
    const pins = [{ id: workflowId, version: workflowVersion }, ...Object.values(input.subflows)];
    const tools = Object.keys(input.toolPins);
    const given = new Map([...agents].map(([name, agent]) => [name, toNodeAgent(agent, tools)]));
    const versions = await this.versions.load(workspaceId, pins);
    const [graph, ...subflows] = await mapInSlices(versions, (version) => withAgents(graphOf(version), given));
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
      ...defined({ resumeFrom: input.resumeFrom }),
    };
  }
}

function graphOf(version: VersionInUse | undefined): WorkflowGraph {
  if (version === undefined) throw definitionGone();
  return version.graph;
}

/** The definition of a job cannot be read any more. */
export const definitionGone = () =>
  new AppError({ code: 'workflow_gone', message: 'The definition of this workflow cannot be read any more' });
