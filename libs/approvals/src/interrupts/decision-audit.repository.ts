import { appendAudit, type Prisma, type PrismaTransaction } from '#platform';

/** A decision, written in its own transaction: the action, the actor and the subject. */
export interface DecisionRecord {
  readonly workspaceId: string;
  /** The principal id of the key or the user. */
  readonly actor: string;
  /** For example `tool_approval.approved`. */
  readonly action: string;
  readonly interruptId: string;
  /** The facts that the person saw, and the effects of the decision; no argument values. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Adds an entry to the append-only audit log. */
export async function recordDecision(tx: PrismaTransaction, record: DecisionRecord): Promise<void> {
  const { workspaceId, actor, action, interruptId } = record;
  const details = record.details as Prisma.InputJsonObject; // the values are members of JSON documents
  const subject = { subjectType: 'Interrupt', subjectId: interruptId };
  await appendAudit(tx, { workspaceId, actor, action, ...subject, details });
}
