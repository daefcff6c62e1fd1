import type { InterruptFieldsFragment } from './generated/graphql.js';

/** A request that a job waits for: docs/interrupts.md. */
export type Interrupt = InterruptFieldsFragment;

/** The request of a call that needs an approval; docs/approvals.md describes its members. */
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
    /** A JSON Schema: the form. */
    readonly inputSchema?: unknown;
    /** What it may be answered with; absent: anything. */
    readonly actions?: readonly string[];
    /** Of a node of a workflow: what it was given, and what it wrote where that is asked about. */
    readonly context?: { readonly input?: string; readonly output?: string };
  };
};
