/** Whose text it is, in a workflow. */
export interface TextPlace {
  /** As reported. */
  readonly nodeId: string;
  /** Tells the conversations of one node apart. */
  readonly branchId?: string;
  /** Whether it is part of the content of the job too; otherwise it is shown under its node only, and has no offset. */
  readonly isContent: boolean;
}
