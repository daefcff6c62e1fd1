import { Inject, Injectable } from '@nestjs/common';

import { LOGGER, type Logger } from '#platform';

import { ToolCatalog, type WorkspaceToolSource } from '../catalog/tool-catalog.js';
import type { Tool } from '../tool.js';
import { HttpToolExecutor } from './http-tool.executor.js';
import { parseHttpTool } from './http-tool.js';
import { toTool } from './to-tool.js';
import { WorkspaceToolsRepository } from './workspace-tools.repository.js';

/** Gives the catalog the HTTP tools of a workspace. */
@Injectable()
export class HttpToolSource implements WorkspaceToolSource {
  readonly name = 'http';

  constructor(
    private readonly tools: WorkspaceToolsRepository,
    private readonly executor: HttpToolExecutor,
    @Inject(LOGGER) private readonly logger: Logger,
    catalog: ToolCatalog,
  ) {
    catalog.addSource(this);
  }

  async toolsOf(workspaceId: string): Promise<readonly Tool[]> {
    const rows = await this.tools.usable(workspaceId);
    return rows.flatMap(({ id, version, definition }) => {
      try {
        return [toTool({ id, version, definition: parseHttpTool(definition) }, this.executor)];
      } catch (error) {
        // Stored by a build with other rules: this tool is missing, the others are not.
        this.logger.warn({ err: error, workspaceId, toolId: id, version }, 'a stored tool cannot be used');
        return [];
      }
    });
  }
}
