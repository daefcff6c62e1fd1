/** The node of a workflow that shows a text. */
export interface TextPlace {
  /** The id that events report. */
  readonly nodeId: string;
  /** Distinguishes the conversations of one node. */
  readonly branchId?: string;
  /** Whether the text is also part of the job's content; otherwise only its node shows it, and it has no offset. */
  readonly isContent: boolean;
}
