import { z } from 'zod';

/** What a start does if a job is active in its thread. */
export const WHEN_BUSY = ['reject', 'enqueue', 'interrupt'] as const;

/** What a start does if the number of running jobs is at a cap. */
export const WHEN_FULL = ['queue', 'reject'] as const;

/** Where server tools run, the least strict mode first: as each tool declares, or all in the tool processes. */
export const TOOL_ISOLATIONS = ['per_tool', 'queue'] as const;

/** A tenant and its settings. */
export interface Workspace {
  readonly id: string;
  readonly name: string;
  /** Caps on running jobs; queued and waiting jobs do not count. The operator's ceilings limit these caps. */
  readonly maxJobsPerUser: number;
  readonly maxJobs: number;
  readonly whenFull: (typeof WHEN_FULL)[number];
  readonly whenBusy: (typeof WHEN_BUSY)[number];
  /** True: each chat must bring a provider key of its own, and the workspace's key is not used. */
  readonly requireUserKey: boolean;
  /** Names or globs of models that OpenAI clients may request directly, besides the provider's default. */
  readonly directModels: readonly string[];
  /** If the setting of the installation is stricter, it applies instead. */
  readonly toolIsolation: (typeof TOOL_ISOLATIONS)[number];
  /** In ms; null: the installation's default. */
  readonly deltaRetentionMs: number | null;
  readonly jobRetentionMs: number | null;
  /** In ms since the epoch. */
  readonly createdAt: number;
}

const name = z.string().trim().min(1).max(200).refine(isStorable, 'contains characters that cannot be stored');
const cap = z.int().min(1).max(1_000_000);
const retention = z
  .int()
  .min(0)
  .max(4_000 * 86_400_000)
  .nullable(); // 4,000 days

/** The input of `WorkspacesService.create`. */
export const newWorkspaceInput = z.strictObject({ name });

/** The input of `WorkspacesService.update`: absent fields do not change. */
export const workspaceChanges = z
  .strictObject({
    name,
    maxJobsPerUser: cap,
    maxJobs: cap,
    whenFull: z.enum(WHEN_FULL),
    whenBusy: z.enum(WHEN_BUSY),
    requireUserKey: z.boolean(),
    directModels: z
      .array(z.string().trim().min(1).max(256).refine(isStorable, 'contains characters that cannot be stored'))
      .max(200)
      .readonly(),
    toolIsolation: z.enum(TOOL_ISOLATIONS),
    deltaRetentionMs: retention,
    jobRetentionMs: retention,
  })
  .partial();

export type WorkspaceChanges = z.infer<typeof workspaceChanges>;

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
