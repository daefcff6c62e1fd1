import { appendAudit, type Prisma, type PrismaTransaction } from '#platform';

/** What was decided, by whom and about what; written in the transaction of the decision. */
export interface DecisionRecord {
  readonly workspaceId: string;
  /** Principal id: the key or the user. */
  readonly actor: string;
  /** For example `tool_approval.approved`. */
  readonly action: string;
  readonly interruptId: string;
  /** What was shown and what follows from it; no argument values. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Adds to the append-only audit. */
export async function recordDecision(tx: PrismaTransaction, record: DecisionRecord): Promise<void> {
  const { workspaceId, actor, action, interruptId } = record;
  const details = record.details as Prisma.InputJsonObject; // members of JSON documents
  const subject = { subjectType: 'Interrupt', subjectId: interruptId };
  await appendAudit(tx, { workspaceId, actor, action, ...subject, details });
}
