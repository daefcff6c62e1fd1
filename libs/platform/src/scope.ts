/** The tables a principal's rights are asked about. */
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
 * Proof that the caller may read, made only by the ability (`libs/auth`); every read method demands one.
 * It is a parameter, never ambient: a method without a Scope cannot reach tenant rows.
 */
export interface Scope {
  /** The tenant. Row-level security is set to exactly this workspace for the whole transaction. */
  readonly workspaceId: string;
  /** Who asks: `user:<id>`, `key:<id>` or `system`. Idempotency keys and audits are theirs. */
  readonly principal: string;
  /** The human behind the principal, when there is one. */
  readonly userId: string | null;
  /** The Prisma `where` of the rows of `subject` that may be read; matches nothing without a right. */
  where(subject: ScopedSubject): object;
}
