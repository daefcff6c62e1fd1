import { asking, type Connection } from './connection.js';
import { followJob, isTerminal, type JobEvent } from './follow-job.js';
import { SubJobsDocument } from './generated/graphql.js';
import type { ApprovalRequest, QuestionRequest } from './interrupt.js';
import { serveClientTool } from './serve-client-tool.js';
import { serveDecision, toDecision } from './serve-decision.js';
import type { OfferedRequest, OpenRequest, ServeOptions } from './serve-options.js';

/**
 * Serves a job to its end. Each open request is taken up once, however often it is shown. What jobs below it ask people, such as
 * those of a workflow that was called as a tool, reaches the same handlers.
 */
export async function serveJob(connection: Connection, jobId: string, options: ServeOptions): Promise<void> {
  const serving = new Serving(connection, jobId, options);
  const { signal } = options;
  try {
    for await (const event of followJob(connection, { jobId, after: undefined, signal })) serving.take(event);
  } finally {
    await serving.end();
  }
}

interface Taken {
  readonly settled: AbortController;
  readonly done: Promise<void>;
}

class Serving {
  private readonly taken = new Map<string, Taken>();
  /** Jobs below that are served, and looks for them. */
  private readonly below = new Map<string, Promise<void>>();
  private readonly ending = new AbortController();

  constructor(
    private readonly connection: Connection,
    private readonly jobId: string,
    private readonly options: ServeOptions,
  ) {}

  take(event: JobEvent): void {
    if (event.__typename === 'JobSnapshotEvent') {
      const open = new Set(event.interrupts.map(({ id }) => id));
      for (const id of this.taken.keys()) if (!open.has(id)) this.settle(id);
      for (const shown of event.interrupts) this.begin(toOpenRequest(shown));
      this.goBelow(`before ${event.seq}`, (options) => this.findBelow(options.signal));
    } else if (event.__typename === 'ToolProgressEvent' && event.subJobId !== null) {
      this.serveBelow(event.subJobId);
    } else if (event.__typename === 'InterruptOpenedEvent') {
      this.begin(toOpenRequest({ ...event, id: event.interruptId }));
    } else if (event.__typename === 'InterruptResolvedEvent') {
      this.settle(event.interruptId);
    }
  }

  /** Aborts what is still asked, and waits until everything under way has come to its end. */
  async end(): Promise<void> {
    const done = [...this.taken.values()].map((one) => one.done);
    for (const id of this.taken.keys()) this.settle(id);
    this.ending.abort();
    await Promise.all([...done, ...this.below.values()]);
  }

  /** A snapshot does not say which calls have become jobs. */
  private async findBelow(signal: AbortSignal): Promise<void> {
    const { job } = await this.connection.http.execute(
      SubJobsDocument,
      { id: this.jobId },
      asking(this.connection, signal, 'patiently'),
    );
    for (const { id, status } of job?.subJobs ?? []) if (!isTerminal(status)) this.serveBelow(id);
  }

  private serveBelow(jobId: string): void {
    this.goBelow(jobId, (options) => serveJob(this.connection, jobId, options));
  }

  /** Only people are asked by jobs below: the tools that run here are those of this one. */
  private goBelow(
    name: string,
    work: (options: ServeOptions & { readonly signal: AbortSignal }) => Promise<void>,
  ): void {
    const { onApproval, onQuestion, onError } = this.options;
    const { signal } = this.ending;
    if (this.below.has(name) || signal.aborted || (onApproval ?? onQuestion) === undefined) return;
    const done = work({ onApproval, onQuestion, onError, signal }).catch((error: unknown) => {
      if (!signal.aborted) onError?.(error);
    });
    this.below.set(name, done);
  }

  private begin(request: OpenRequest): void {
    if (this.taken.has(request.id)) return;
    const settled = new AbortController();
    const call: OfferedRequest = { ...request, jobId: this.jobId, signal: settled.signal };
    const done = this.serve(call).catch((error: unknown) => this.options.onError?.(error, request));
    this.taken.set(request.id, { settled, done });
  }

  private settle(id: string): void {
    this.taken.get(id)?.settled.abort();
    this.taken.delete(id);
  }

  private async serve(call: OfferedRequest): Promise<void> {
    const { onApproval, onQuestion } = this.options;
    const { signal } = call;
    // The kind determines the fields of the request: docs/interrupts.md.
    if (call.kind === 'CLIENT_TOOL') await serveClientTool(this.connection, call, this.options);
    else if (call.kind === 'TOOL_APPROVAL' && onApproval !== undefined)
      await serveDecision(this.connection, call, async (shown) =>
        toDecision(await onApproval(shown as ApprovalRequest, { signal }), shown),
      );
    else if (call.kind === 'HUMAN_INPUT' && onQuestion !== undefined)
      await serveDecision(this.connection, call, async (shown) => onQuestion(shown as QuestionRequest, { signal }));
  }
}

type Shown = Omit<OpenRequest, 'request'> & { readonly request: unknown };

function toOpenRequest({ id, kind, callId, title, request }: Shown): OpenRequest {
  return { id, kind, callId, title, request: request as OpenRequest['request'] }; // every kind of request is an object
}
