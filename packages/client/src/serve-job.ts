import type { Connection } from './connection.js';
import { followJob, type JobEvent } from './follow-job.js';
import { serveClientTool } from './serve-client-tool.js';
import { serveDecision, toDecision } from './serve-decision.js';
import type { OfferedRequest, OpenRequest, ServeOptions } from './serve-options.js';

/** Serves a job to its end. Each open request is taken up once, however often it is shown. */
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
    await Promise.all(done);
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
    if (call.kind === 'CLIENT_TOOL') await serveClientTool(this.connection, call, this.options);
    else if (call.kind === 'TOOL_APPROVAL' && onApproval !== undefined)
      await serveDecision(this.connection, call, async (shown) =>
        toDecision(await onApproval(shown, { signal }), shown),
      );
    else if (call.kind === 'HUMAN_INPUT' && onQuestion !== undefined)
      await serveDecision(this.connection, call, async (shown) => onQuestion(shown, { signal }));
  }
}

type Shown = Omit<OpenRequest, 'request'> & { readonly request: unknown };

function toOpenRequest({ id, kind, callId, title, request }: Shown): OpenRequest {
  return { id, kind, callId, title, request: request as OpenRequest['request'] }; // every kind of request is an object
}
