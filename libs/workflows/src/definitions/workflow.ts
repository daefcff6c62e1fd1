/** A workflow of a workspace, without its definitions. Instants in ms since the epoch. */
export interface Workflow {
  readonly id: string;
  /** The id that its document came with; every endpoint accepts it as a second id. */
  readonly clientId: string | null;
  /** Unique in its workspace. */
  readonly name: string;
  /** Identifies the workflow in `workflow/<slug>`; does not change when the workflow is renamed. */
  readonly slug: string;
  /** The name that models call it by: `workflow.<slug>`, or its earlier name if it existed before slugs. */
  readonly toolName: string;
  readonly description: string;
  readonly draftHash: string;
  /** Counts saves, from 1. */
  readonly draftVersion: number;
  /** The version that jobs run by default; null: nothing is published yet. */
  readonly publishedVersion: number | null;
  /** How many versions there are. */
  readonly latestVersion: number;
  /** Whether models may call the published version. */
  readonly offeredAsTool: boolean;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A published definition. It never changes. */
export interface WorkflowVersion {
  readonly workflowId: string;
  /** 1, 2, 3 … */
  readonly number: number;
  /** SHA-256 (hex) of the definition, independent of whitespace. */
  readonly hash: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

/** The stored facts about a definition besides its text. */
export interface DraftFacts {
  /** JSON text, as it was given. */
  readonly text: string;
  readonly hash: string;
  readonly name: string;
  readonly description: string;
  readonly clientId: string | null;
}
