import type { HttpTool } from './http-tool.js';

/** The current version of a workspace's tool. */
export interface WorkspaceTool {
  readonly id: string;
  readonly name: string;
  /** A disabled tool is neither listed nor run. */
  readonly enabled: boolean;
  /** 1, 2, 3 …; each change of the definition creates a version. */
  readonly version: number;
  readonly definition: HttpTool;
  /** In ms since the epoch, as is `updatedAt`. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A version of a tool's definition. */
export interface WorkspaceToolVersion {
  readonly version: number;
  readonly definition: HttpTool;
  /** The principal id of its creator. */
  readonly createdBy: string;
  readonly createdAt: number;
}
