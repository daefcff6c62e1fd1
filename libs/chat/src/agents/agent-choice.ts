import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { ToolCatalog } from '#tools';

import type { Agent, AgentPin, AgentPreset, AgentSelection, ChosenAgent } from '../input/agent.js';
import type { ChatInput } from '../input/chat-input.js';
import { noAgents } from './agents.errors.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';
import { coveredBy } from './apply-agent.js';

/** The agent of a job, as pinned when the job is accepted. */
export interface PinnedAgent {
  readonly input: Pick<ChatInput, 'agent' | 'routing'>;
  /** Null if the agent has no model of its own, or is not chosen yet. */
  readonly model: string | null;
  /** Names of the server's tools that the job may offer. */
  readonly tools: readonly string[];
}

/** For a job without an agent. */
export const NO_AGENT: PinnedAgent = { input: {}, model: null, tools: [] };

/** Finds the agent when a job is accepted, and pins it. */
@Injectable()
export class AgentChoice {
  constructor(
    private readonly agents: AgentsService,
    private readonly repository: AgentsRepository,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Throws `not_found` (no such agent), `no_agents` (the workspace has no agents). */
  async choose(principal: Principal, selection: AgentSelection): Promise<PinnedAgent> {
    if (selection.type === 'agent') return this.only(principal, await this.agents.find(principal, selection.ref));
    const all = await this.agents.all(principal);
    const [first, ...others] = all;
    if (first === undefined) throw noAgents();
    if (others.length === 0) return this.only(principal, first);
    const fallback = all.find(({ isDefault }) => isDefault) ?? first;
    const routing = { candidates: all.map(toPin), fallback: fallback.id };
    return { input: { routing }, model: null, tools: await this.grants(principal, all) };
  }

  /** The agent of a retry: the agent that the retried job was pinned to or has chosen. */
  async again(principal: Principal, jobId: string, { agent, routing }: ChatInput): Promise<PinnedAgent> {
    const { workspaceId } = principal;
    const chosen = agent ?? (routing === undefined ? null : await this.repository.chosen(workspaceId, jobId));
    const pins = chosen === null ? (routing?.candidates ?? []) : [toPin(chosen)];
    const tools = await this.grants(principal, await this.repository.pinned(workspaceId, pins));
    const input = chosen === null ? (routing === undefined ? {} : { routing }) : { agent: chosen };
    return { input, model: null, tools };
  }

  private async only(principal: Principal, agent: Agent): Promise<PinnedAgent> {
    const tools = await this.grants(principal, [agent]);
    return { input: { agent: toChosen(agent) }, model: agent.model, tools };
  }

  private async grants(principal: Principal, agents: readonly AgentPreset[]): Promise<readonly string[]> {
    const patterns = agents.flatMap(({ tools, externalTools }) => [...tools, ...externalTools]);
    if (patterns.length === 0) return [];
    const tools = await this.catalog.offeredTo(principal);
    return coveredBy(
      patterns,
      tools.list().map(({ name }) => name),
    );
  }
}

function toPin({ id, version }: AgentPin): AgentPin {
  return { id, version };
}

/** Converts the agent to the form that a job stores and shows. */
export function toChosen({ id, version, name, slug }: AgentPreset): ChosenAgent {
  return { id, version, name, slug };
}
