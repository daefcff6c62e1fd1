import { Injectable } from '@nestjs/common';

import { FeatureFlags, type FlagCaller } from '#auth';
import type { ToolDefinition } from '#models';
import { systemClock, TimedCache } from '#platform';

import type { Tool } from '../tool.js';
import { toDefinition, ToolRegistry } from '../tool.registry.js';

/** A source of tools of single workspaces, besides the registry of the process. */
export interface WorkspaceToolSource {
  /** The name of the source, for messages about a name that two sources use. */
  readonly name: string;
  /** Returns all usable tools of the workspace. The catalog calls it at most about once a second per workspace. */
  toolsOf(workspaceId: string): Promise<readonly Tool[]>;
}

/** The tools of one workspace at one moment: the tools of the process, then those of the workspace. */
export class WorkspaceTools {
  private readonly own: ReadonlyMap<string, Tool>;

  constructor(
    private readonly registry: ToolRegistry,
    own: readonly Tool[],
    private readonly hiddenFlags: ReadonlySet<string> = new Set(),
  ) {
    this.own = new Map(own.filter((tool) => registry.find(tool.name) === undefined).map((tool) => [tool.name, tool]));
  }

  /** Returns the tool with this name, even if it is disabled. */
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

  /** Returns the feature flags of the tools. Runs at every tool call, so it neither sorts nor copies. */
  flags(): ReadonlySet<string> {
    const flags = new Set<string>();
    for (const tools of [this.registry.all(), this.own.values()])
      for (const { flag } of tools) if (flag !== null) flags.add(flag);
    return flags;
  }

  /** Returns the same tools without those that require one of these flags. */
  withoutFlags(flags: ReadonlySet<string>): WorkspaceTools {
    return new WorkspaceTools(this.registry, [...this.own.values()], flags);
  }

  /** Returns the definition of an enabled tool for the model; undefined if no such tool exists. */
  definitionOf(name: string): ToolDefinition | undefined {
    const tool = this.find(name);
    return tool?.enabled === true ? toDefinition(tool) : undefined;
  }

  private isShown({ flag }: Tool): boolean {
    return flag === null || !this.hiddenFlags.has(flag);
  }
}

/** How long another process may use the previous tools after a change, in ms. */
const freshMs = 1_000;
const maxRemembered = 1_000;

/** Knows the tools of each workspace. Sources register while the process boots; the tools of a workspace are cached for up to a second. */
@Injectable()
export class ToolCatalog {
  private readonly sources: WorkspaceToolSource[] = [];
  private readonly remembered = new TimedCache<WorkspaceTools>({
    ...{ clock: systemClock, ttlMs: freshMs, max: maxRemembered },
  });

  constructor(
    private readonly registry: ToolRegistry,
    private readonly flags: FeatureFlags,
  ) {}

  addSource(source: WorkspaceToolSource): void {
    this.sources.push(source);
  }

  /** Returns the workspace's tools as they are now, or were up to a second ago. */
  of(workspaceId: string): Promise<WorkspaceTools> {
    return this.remembered.get(workspaceId, () => this.read(workspaceId));
  }

  /**
   * Returns the tools that this user may use in the workspace, without those whose feature flag is off. Use it for every offer to a model and
   * every call; use `of` to list and check tools.
   */
  async offeredTo(caller: FlagCaller): Promise<WorkspaceTools> {
    const tools = await this.of(caller.workspaceId);
    const named = [...tools.flags()];
    if (named.length === 0) return tools;
    const isOn = await Promise.all(named.map((flag) => this.flags.isEnabled(flag, caller)));
    return tools.withoutFlags(new Set(named.filter((_, at) => isOn[at] === false)));
  }

  /** Call it after a change of the workspace's tools, so that this process uses the new tools at once. */
  forget(workspaceId: string): void {
    this.remembered.forget(workspaceId);
  }

  private async read(workspaceId: string): Promise<WorkspaceTools> {
    const own = await Promise.all(this.sources.map((source) => source.toolsOf(workspaceId)));
    return new WorkspaceTools(this.registry, own.flat());
  }
}
