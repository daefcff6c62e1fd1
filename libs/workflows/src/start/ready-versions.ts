import { Injectable } from '@nestjs/common';

import { ToolCatalog, type WorkspaceTools } from '#tools';

import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { withAgents } from '../definition/with-agents.js';
import { type CheckedDefinition, DefinitionChecks } from '../definitions/definition-checks.js';
import { toNodeAgent } from '../definitions/to-node-agent.js';
import type { VersionInUse } from '../definitions/versions-in-use.js';
import type { WorkflowInput } from '../definitions/workflow-input.js';
import { workflowInvalid } from '../definitions/workflows.errors.js';
import { asksModels, toolsOf } from './tools-of.js';

/** A version that can run in its workspace now, and the versions that it is pinned to. */
export interface ReadyVersion extends Pick<WorkflowInput, 'subflows' | 'toolPins' | 'agents'> {
  readonly graph: WorkflowGraph;
  readonly asksModels: boolean;
}

interface Kept {
  tools: WorkspaceTools;
  /** The versions of the tools. */
  readonly toolNames: string;
  readonly ready: ReadyVersion;
}

/** Validates versions against their workspace before a start. The result is cached per version and set of tools. */
@Injectable()
export class ReadyVersions {
  private readonly kept = new WeakMap<VersionInUse, Kept>();

  constructor(
    private readonly checks: DefinitionChecks,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Throws `workflow_invalid` with the issues. */
  async check(workspaceId: string, version: VersionInUse): Promise<ReadyVersion> {
    const kept = this.kept.get(version);
    if (kept !== undefined && isAmong(await this.catalog.of(workspaceId), kept)) return kept.ready;
    const checked = await this.checks.look(workspaceId, version.json, { strict: false });
    const { document, result, subflows, tools, agents } = checked;
    if (document === null || !result.isValid) throw workflowInvalid(result.errors);
    const ready = toReady(version.graph, checked);
    // Published subflows and agents can change at any time, so they are read for each start.
    if (subflows.size === 0 && agents.size === 0) this.kept.set(version, { tools, toolNames: namesOf(tools), ready });
    return ready;
  }
}

function isAmong(tools: WorkspaceTools, kept: Kept): boolean {
  if (kept.tools === tools) return true;
  if (namesOf(tools) !== kept.toolNames) return false;
  kept.tools = tools;
  return true;
}

function namesOf(tools: WorkspaceTools): string {
  return JSON.stringify(tools.list().map(({ name, version }) => [name, version]));
}

function toReady(graph: WorkflowGraph, { subflows, tools, agents }: CheckedDefinition): ReadyVersion {
  // A subflow with problems of its own was rejected together with the workflow.
  const offered = tools.list().map(({ name }) => name);
  const given = new Map([...agents].map(([name, agent]) => [name, toNodeAgent(agent, offered)]));
  const graphs = [graph, ...[...subflows.values()].map(({ document }) => toGraph(document))].map((each) =>
    withAgents(each, given),
  );
  const names = new Set(graphs.flatMap((each) => [...toolsOf(each)]));
  const used = tools.list().filter(({ name }) => names.has('*') || names.has(name));
  return {
    graph,
    ...(agents.size === 0
      ? {}
      : { agents: Object.fromEntries([...agents].map(([name, { id, version }]) => [name, { id, version }])) }),
    subflows: Object.fromEntries([...subflows].map(([ref, { id, version }]) => [ref, { id, version }])),
    toolPins: Object.fromEntries(used.map(({ name, version }) => [name, version])),
    asksModels: graphs.some(asksModels),
  };
}
