import type { InterruptFieldsFragment } from './generated/graphql.js';

/** A request that a job waits for: docs/interrupts.md. */
export type Interrupt = InterruptFieldsFragment;

/** The request to approve a call; docs/approvals.md describes its fields. */
export type ApprovalRequest = Interrupt & {
  readonly request: {
    readonly tool: string;
    readonly title: string;
    readonly reason: string;
    readonly agent: string | null;
    readonly argumentsPreview: string;
    readonly argumentsTruncated: boolean;
    readonly argumentsHash: string;
    readonly approvable: boolean;
    readonly allowEdit: boolean;
  };
};

/** A question of a model or of a workflow; docs/interrupts.md describes how to answer it. */
export type QuestionRequest = Interrupt & {
  readonly request: {
    readonly prompt: string;
    /** A JSON Schema that describes the form. */
    readonly inputSchema?: unknown;
    /** The allowed actions; absent: any. */
    readonly actions?: readonly string[];
    /** For a workflow node: its input, and its output if the question is about the output. */
    readonly context?: { readonly input?: string; readonly output?: string };
  };
};
