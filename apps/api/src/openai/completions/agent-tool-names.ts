import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import type { ToolDefinition } from '#models';
import { matchesGlob, ToolCatalog } from '#tools';

import type { ModelTarget } from '../models/model-directory.js';

/** Finds the functions of a client that have the same name as a server tool of the agent. */
@Injectable()
export class AgentToolNames {
  constructor(private readonly catalog: ToolCatalog) {}

  /** The names in `tools` that are server tools. Empty for `auto`, whose agent is not known yet, and for models, which have no tools. */
  async among(
    principal: Principal,
    target: ModelTarget,
    tools: readonly ToolDefinition[],
  ): Promise<ReadonlySet<string>> {
    if (target.type !== 'agent' || tools.length === 0) return new Set();
    const known = await this.catalog.offeredTo(principal);
    const { tools: granted, externalTools } = target.agent;
    const isNamed = (globs: readonly string[], name: string) => globs.some((glob) => matchesGlob(glob, name));
    const names = tools.map(({ function: { name } }) => name);
    return new Set(
      names.filter(
        (name) => known.find(name)?.enabled === true && isNamed(granted, name) && !isNamed(externalTools, name),
      ),
    );
  }
}
