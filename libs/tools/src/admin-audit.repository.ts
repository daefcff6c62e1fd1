import type { Principal } from '#auth';
import { appendAudit, type Prisma, type PrismaTransaction } from '#platform';

/** A change of the tools or the definitions of a workspace. */
export interface AdminChange {
  /** `<noun>-<past participle>`, in the style of event names. */
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
  /** Never contains a secret. */
  readonly details: Prisma.InputJsonObject;
}

/** Adds an entry to the append-only audit log, in the transaction of the change. */
export async function recordChange(tx: PrismaTransaction, principal: Principal, change: AdminChange): Promise<void> {
  const { workspaceId, id: actor } = principal;
  await appendAudit(tx, { workspaceId, actor, ...change });
}

/** Locks the workspace: other transactions cannot change its tools, secrets and workflows until this transaction ends. */
export async function lockWorkspace(tx: PrismaTransaction, workspaceId: string): Promise<void> {
  await tx.$queryRaw`SELECT id FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
}
