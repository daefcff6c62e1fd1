import type { NewInterrupt } from '#jobs';
import { newId } from '#platform';
import type { JsonSchema } from '#tools';

/** The actions on a question to a person. */
export const humanInputActions = ['approve', 'reject', 'submit', 'modify', 'skip', 'custom'] as const;
export type HumanInputAction = (typeof humanInputActions)[number];

/** The contents of a `human_input` interrupt: the fields that a person sees, and the settings that apply to the answer. */
export interface HumanInputRequest {
  readonly mode: 'approval' | 'input' | 'review';
  readonly prompt: string;
  /** Mode `input`: the schema of `data`, which defines the form. */
  readonly inputSchema?: JsonSchema;
  /** Whether `data` is required: a person can reject the question but not skip it. A question about a call is always answered or rejected. */
  readonly dataRequired?: boolean;
  /** The allowed actions; absent: all actions. */
  readonly actions?: readonly HumanInputAction[];
  /** The outcome when the request expires; absent: what the request's `expireAction` sets. */
  readonly defaultAction?: 'approve' | 'reject' | 'skip' | 'timeout';
}

/** A question of a call to a person. */
export interface PersonQuestion {
  /** Default: a new id. */
  readonly id?: string;
  readonly job: {
    readonly threadId: string | null;
    /** The user who started the (root) job; null: no user did, and approvers answer. */
    readonly createdBy: string | null;
  };
  /** The id of the ledger row, and the call id and name that the model knows. */
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

/** Creates the open request for a person's answer. Commit it with its call. A request that expires without an answer counts as rejected. */
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

/** The question as a one-line title. */
function toTitle(question: string): string {
  const line = question.replaceAll(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= longestTitle ? line : `${characters.slice(0, longestTitle - 1).join('')}…`;
}
