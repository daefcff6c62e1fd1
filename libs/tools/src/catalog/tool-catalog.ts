import { Injectable } from '@nestjs/common';

import { FeatureFlags, type FlagCaller } from '#auth';
import type { ToolDefinition } from '#models';
import { systemClock, TimedCache } from '#platform';

import type { Tool } from '../tool.js';
import { toDefinition, ToolRegistry } from '../tool.registry.js';

/** A place where tools of single workspaces come from, besides the registry of the process. */
export interface WorkspaceToolSource {
  /** Names the source that a tool name clashes with. */
  readonly name: string;
  /** All usable tools of the workspace; read at most about once a second and workspace. */
  toolsOf(workspaceId: string): Promise<readonly Tool[]>;
}

/** The tools of one workspace at one moment: those of the process, then its own. */
export class WorkspaceTools {
  private readonly own: ReadonlyMap<string, Tool>;

  constructor(
    private readonly registry: ToolRegistry,
    own: readonly Tool[],
    private readonly hiddenFlags: ReadonlySet<string> = new Set(),
  ) {
    this.own = new Map(own.filter((tool) => registry.find(tool.name) === undefined).map((tool) => [tool.name, tool]));
  }

  /** The tool of that name, also a disabled one. */
  find(name: string): Tool | undefined {
    const tool = this.registry.find(name) ?? this.own.get(name);
    return tool !== undefined && this.isShown(tool) ? tool : undefined;
  }

  /** All enabled tools by name. */
  list(): readonly Tool[] {
    const own = [...this.own.values()].filter((tool) => tool.enabled);
    const shown = [...this.registry.list(), ...own].filter((tool) => this.isShown(tool));
    return shown.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The feature flags that tools name. Asked for at every call of a tool, so nothing is sorted or copied. */
  flags(): ReadonlySet<string> {
    const flags = new Set<string>();
    for (const tools of [this.registry.all(), this.own.values()])
      for (const { flag } of tools) if (flag !== null) flags.add(flag);
    return flags;
  }

  /** The same without the tools that name one of these flags. */
  withoutFlags(flags: ReadonlySet<string>): WorkspaceTools {
    return new WorkspaceTools(this.registry, [...this.own.values()], flags);
  }

  /** An enabled tool as a model is to be shown it; undefined when there is none. */
  definitionOf(name: string): ToolDefinition | undefined {
    const tool = this.find(name);
    return tool?.enabled === true ? toDefinition(tool) : undefined;
  }

  private isShown({ flag }: Tool): boolean {
    return flag === null || !this.hiddenFlags.has(flag);
  }
}

/** How long another process may use tools after they were changed here, ms. */
const freshMs = 1_000;
const mostRemembered = 1_000;

/** Which tools a workspace has. Sources register while the process boots; answers are at most a second old. */
@Injectable()
export class ToolCatalog {
  private readonly sources: WorkspaceToolSource[] = [];
  private readonly remembered = new TimedCache<WorkspaceTools>({
    ...{ clock: systemClock, ttlMs: freshMs, max: mostRemembered },
  });

  constructor(
    private readonly registry: ToolRegistry,
    private readonly flags: FeatureFlags,
  ) {}

  addSource(source: WorkspaceToolSource): void {
    this.sources.push(source);
  }

  /** The workspace's tools as of now, or up to a second ago. */
  of(workspaceId: string): Promise<WorkspaceTools> {
    return this.remembered.get(workspaceId, () => this.read(workspaceId));
  }

  /**
   * The tools that this user may have in the workspace: without those whose feature flag is off. For every offer to a model and every call;
   * `of` is for showing and checking what exists.
   */
  async offeredTo(caller: FlagCaller): Promise<WorkspaceTools> {
    const tools = await this.of(caller.workspaceId);
    const named = [...tools.flags()];
    if (named.length === 0) return tools;
    const isOn = await Promise.all(named.map((flag) => this.flags.isEnabled(flag, caller)));
    return tools.withoutFlags(new Set(named.filter((_, at) => isOn[at] === false)));
  }

  /** Call after a change of the workspace's tools, so that this process sees it at once. */
  forget(workspaceId: string): void {
    this.remembered.forget(workspaceId);
  }

  private async read(workspaceId: string): Promise<WorkspaceTools> {
    const own = await Promise.all(this.sources.map((source) => source.toolsOf(workspaceId)));
    return new WorkspaceTools(this.registry, own.flat());
  }
}
