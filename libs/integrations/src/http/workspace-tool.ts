import type { HttpTool } from './http-tool.js';

/** A tool of a workspace in its present version. */
export interface WorkspaceTool {
  readonly id: string;
  readonly name: string;
  /** A disabled tool is neither listed nor run. */
  readonly enabled: boolean;
  /** 1, 2, 3 …; each change of the definition makes one. */
  readonly version: number;
  readonly definition: HttpTool;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One of the definitions that a tool has had. */
export interface WorkspaceToolVersion {
  readonly version: number;
  readonly definition: HttpTool;
  /** Principal id of who made it. */
  readonly createdBy: string;
  readonly createdAt: number;
}
