import { humanWait, type JobEvent, type JobSnapshot, type JobStatus, requestKinds, type SubJobInterrupt } from '#jobs';

import { OpenAiError } from '../../errors/openai-error.js';
import type { ClientToolCall } from './answer-part.js';

const clientKind = 'client_tool';
/** The kinds that a person or a client decides. A `wait` is not one of them. */
const askedKinds: ReadonlySet<string> = new Set(requestKinds);

interface OpenRequest {
  readonly kind: string;
  /** For a `client_tool`: the call that the client must run. */
  readonly call: ClientToolCall | null;
}

/** The open requests of a job and of its sub-jobs, each in the order in which they were opened. */
export class AnswerRequests {
  private readonly open = new Map<string, OpenRequest>();
  private ofSubJobs: readonly SubJobInterrupt[] = [];

  take(event: JobEvent): void {
    if (event.type === 'interrupt-opened') {
      const { interruptId, kind, callId, request } = event.body;
      this.open.set(interruptId, toRequest({ kind, callId: callId ?? null, request }));
    } else if (event.type === 'interrupt-resolved') this.open.delete(event.body.interruptId);
  }

  replace(interrupts: JobSnapshot['interrupts']): void {
    this.open.clear();
    for (const interrupt of interrupts) this.open.set(interrupt.id, toRequest(interrupt));
  }

  /** Replaces all open requests of sub-jobs. */
  replaceOfSubJobs(requests: readonly SubJobInterrupt[]): void {
    this.ofSubJobs = requests;
  }

  /** The ids of requests that people must answer; with `clients`, also of requests for client tools. */
  idsOf({ clients }: { readonly clients: boolean }): readonly string[] {
    const own = [...this.open].map(([id, { kind }]) => ({ id, kind }));
    const asked = [...own, ...this.ofSubJobs].filter(
      ({ kind }) => askedKinds.has(kind) && (clients || kind !== clientKind),
    );
    return asked.map(({ id }) => id);
  }

  /** The calls for clients, by their ids. */
  get clientCalls(): ReadonlyMap<string, ClientToolCall> {
    return new Map([...this.open.values()].flatMap(({ call }) => (call === null ? [] : [[call.id, call]])));
  }
}

type Asked = Pick<JobSnapshot['interrupts'][number], 'kind' | 'callId' | 'request'>;

function toRequest({ kind, callId: id, request }: Asked): OpenRequest {
  if (kind !== clientKind || id === null || typeof request !== 'object' || request === null)
    return { kind, call: null };
  const { tool: name, arguments: args }: Readonly<Record<string, unknown>> = { ...request };
  return { kind, call: typeof name === 'string' && typeof args === 'string' ? { id, name, arguments: args } : null };
}

/** How a job ended, and what its response has already sent. */
interface AnswerEnding {
  readonly status: JobStatus;
  /** The reason in the job's row. */
  readonly reason: string | null;
  readonly isStrict: boolean;
  /** Whether the response has no text although the model finished normally. */
  readonly isEmpty: boolean;
}

/** The error of a response whose job has ended; null: it succeeded. Pure. */
export function answerError({ status, reason, isStrict, isEmpty }: AnswerEnding): OpenAiError | null {
  if (status === 'failed')
    return new OpenAiError({ status: 500, message: 'Agent execution failed', code: 'job_failed' });
  if (status === 'cancelled')
    return isStrict && reason === humanWait
      ? humanNotWaitedFor()
      : new OpenAiError({ status: 500, message: 'The job was cancelled', code: 'job_cancelled' });
  return isEmpty
    ? new OpenAiError({ status: 500, message: 'Agent returned empty response', code: 'job_failed' })
    : null;
}

function humanNotWaitedFor(): OpenAiError {
  const message = 'x-tool-event-format=openai cannot pause for human approval or input';
  return new OpenAiError({ status: 400, message });
}
