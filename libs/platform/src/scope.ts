/** The tables for which a principal has rights. */
export type ScopedSubject =
  | 'Workspace'
  | 'Membership'
  | 'Invitation'
  | 'ApiKey'
  | 'ModelProvider'
  | 'WorkspaceTool'
  | 'WorkspaceSecret'
  | 'WebhookEndpoint'
  | 'McpServer'
  | 'SyntrixConnection'
  | 'Workflow'
  | 'Agent'
  | 'StoredFile'
  | 'Trigger'
  | 'Schedule'
  | 'Thread'
  | 'Message'
  | 'Job'
  | 'ToolCall'
  | 'Interrupt'
  | 'Notification'
  | 'NotificationChannel'
  | 'AuditEntry';

/**
 * Proof that the caller may read. Only the ability (`libs/auth`) makes one, and every read method requires one. It is a parameter, never
 * ambient: a method without a Scope cannot reach rows of tenants.
 */
export interface Scope {
  /** The tenant. Row-level security is set to exactly this workspace for the whole transaction. */
  readonly workspaceId: string;
  /** The principal: `user:<id>`, `key:<id>` or `system`. Idempotency keys and audit entries belong to it. */
  readonly principal: string;
  /** The user of the principal, if it has one. */
  readonly userId: string | null;
  /** The Prisma `where` of the rows of `subject` that the principal may read; without a right, it matches no row. */
  where(subject: ScopedSubject): object;
}
