import type { Principal } from '#auth';
import { appendAudit, type Prisma, type PrismaTransaction } from '#platform';

/** What was changed about the tools of a workspace, or what it is made of. */
export interface AdminChange {
  /** `<noun>-<what happened>`, as events are named. */
  readonly action: string;
  readonly subjectType:
    | 'WorkspaceTool'
    | 'WorkspaceSecret'
    | 'McpServer'
    | 'Workflow'
    | 'Schedule'
    | 'Agent'
    | 'WebhookEndpoint'
    | 'NotificationChannel'
    | 'SyntrixConnection'
    | 'Trigger'
    | 'Workspace';
  readonly subjectId: string;
  /** Never a secret. */
  readonly details: Prisma.InputJsonObject;
}

/** Adds to the append-only audit, in the transaction of the change. */
export async function recordChange(tx: PrismaTransaction, principal: Principal, change: AdminChange): Promise<void> {
  const { workspaceId, id: actor } = principal;
  await appendAudit(tx, { workspaceId, actor, ...change });
}

/** Keeps others from changing tools, secrets and workflows of this workspace until the transaction ends. */
export async function lockWorkspace(tx: PrismaTransaction, workspaceId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
}
