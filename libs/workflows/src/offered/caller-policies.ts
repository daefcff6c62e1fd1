import { Injectable } from '@nestjs/common';

import type { ApprovalPolicy } from '#approvals';
import { AgentsService } from '#chat';

import { type VersionRef, VersionsInUse } from '../definitions/versions-in-use.js';
import type { CallingJob, CallingNode } from './offered-workflows.repository.js';

/** The policy layers of calling agents. They apply to everything that the agents start, at any depth. */
@Injectable()
export class CallerPolicies {
  constructor(
    private readonly versions: VersionsInUse,
    private readonly agents: AgentsService,
  ) {}

  /** Returns the layers of the calling job and that of the calling agent. Throws `agent_gone`. */
  async of(
    workspaceId: string,
    { callerPolicies, agent, node }: Pick<CallingJob, 'callerPolicies' | 'agent' | 'node'>,
  ): Promise<readonly ApprovalPolicy[]> {
    const pins = [...(agent === null ? [] : [agent]), ...(node === null ? [] : await this.agentsOf(workspaceId, node))];
    const presets = pins.length === 0 ? [] : await this.agents.pinned(workspaceId, pins);
    const own = presets.flatMap(({ toolApproval }) => (toolApproval === null ? [] : [toolApproval]));
    return [...(callerPolicies ?? []), ...own];
  }

  /** If several definitions have a node with this id, the agents of all these nodes count, which can only tighten the policy. */
  private async agentsOf(workspaceId: string, { id, definitions, agents }: CallingNode): Promise<VersionRef[]> {
    const versions = await this.versions.load(workspaceId, definitions);
    const nodes = versions.flatMap((version) => version?.graph.nodes.get(id) ?? []);
    const names = nodes.flatMap((node) => (node.type === 'agent' ? (node.data.agent ?? []) : []));
    return [...new Set(names)].flatMap((name) => (Object.hasOwn(agents, name) ? (agents[name] ?? []) : []));
  }
}
