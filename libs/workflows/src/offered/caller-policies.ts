import { Injectable } from '@nestjs/common';

import type { ApprovalPolicy } from '#approvals';
import { AgentsService } from '#chat';

import { type VersionRef, VersionsInUse } from '../definitions/versions-in-use.js';
import type { CallingJob, CallingNode } from './offered-workflows.repository.js';

/** The layers of the policy that agents bring along: what they call for does not escape them, however deep it is. */
@Injectable()
export class CallerPolicies {
  constructor(
    private readonly versions: VersionsInUse,
    private readonly agents: AgentsService,
  ) {}

  /** Those that hold for the calling job already, and the one of the agent that calls. Throws `agent_gone`. */
  async of(
    workspaceId: string,
    { callerPolicies, agent, node }: Pick<CallingJob, 'callerPolicies' | 'agent' | 'node'>,
  ): Promise<readonly ApprovalPolicy[]> {
    const pins = [...(agent === null ? [] : [agent]), ...(node === null ? [] : await this.agentsOf(workspaceId, node))];
    const presets = pins.length === 0 ? [] : await this.agents.pinned(workspaceId, pins);
    const own = presets.flatMap(({ toolApproval }) => (toolApproval === null ? [] : [toolApproval]));
    return [...(callerPolicies ?? []), ...own];
  }

  /** Where definitions share the id of a node, the agents of all of them count: that can only tighten. */
  private async agentsOf(workspaceId: string, { id, definitions, agents }: CallingNode): Promise<VersionRef[]> {
    const versions = await this.versions.load(workspaceId, definitions);
    const nodes = versions.flatMap((version) => version?.graph.nodes.get(id) ?? []);
    const names = nodes.flatMap((node) => (node.type === 'agent' ? (node.data.agent ?? []) : []));
    return [...new Set(names)].flatMap((name) => (Object.hasOwn(agents, name) ? (agents[name] ?? []) : []));
  }
}
