import type { NewInterrupt } from '#jobs';
import { newId } from '#platform';
import type { JsonSchema } from '#tools';

/** What can be done with a question to a person. */
export const humanInputActions = ['approve', 'reject', 'submit', 'modify', 'skip', 'custom'] as const;
export type HumanInputAction = (typeof humanInputActions)[number];

/** What the request of a `human_input` interrupt shows, and what answering it goes by. */
export interface HumanInputRequest {
  readonly mode: 'approval' | 'input' | 'review';
  readonly prompt: string;
  /** Mode `input`: what `data` has to be; the form. */
  readonly inputSchema?: JsonSchema;
  /** Whether it has to be filled in, so that it can only be rejected, not skipped. One about a call is filled in or left. */
  readonly dataRequired?: boolean;
  /** The actions that are offered; absent: all of them. */
  readonly actions?: readonly HumanInputAction[];
  /** The outcome when the request expires; absent: what the request's `expireAction` sets. */
  readonly defaultAction?: 'approve' | 'reject' | 'skip' | 'timeout';
}

/** A question that a call puts to a person. */
export interface PersonQuestion {
  /** Default: a new one. */
  readonly id?: string;
  readonly job: {
    readonly threadId: string | null;
    /** The user who started the (root) job; null: the approvers are asked. */
    readonly createdBy: string | null;
  };
  /** The ledger row, and the call as the model knows it. */
  readonly call: { readonly toolCallId: string; readonly callId: string; readonly name: string };
  readonly question: string;
  readonly inputSchema: JsonSchema;
  /** Default: 7 days. */
  readonly timeoutMs?: number;
  /** Ms since the epoch; default: now. */
  readonly now?: number;
}

const waitMs = 7 * 86_400_000;
const longestTitle = 200;

/** The open request for a person's answer; commit it with its call. No answer counts as a refusal. */
export function humanInputInterrupt(asked: PersonQuestion): NewInterrupt {
  const { id = newId(), job, call, question, inputSchema, timeoutMs = waitMs, now = Date.now() } = asked;
  const request: HumanInputRequest = {
    mode: 'input',
    prompt: question,
    inputSchema,
    actions: ['submit', 'skip', 'reject'],
  };
  return {
    id,
    kind: 'human_input',
    title: toTitle(question),
    request: { ...request },
    threadId: job.threadId,
    toolCallId: call.toolCallId,
    callId: call.callId,
    tool: call.name,
    requester: job.createdBy,
    expireAction: 'deny',
    expiresAt: now + timeoutMs,
  };
}

/** The question in a line. */
function toTitle(question: string): string {
  const line = question.replaceAll(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= longestTitle ? line : `${characters.slice(0, longestTitle - 1).join('')}…`;
}
