import { newId } from '#platform';

import type { CallOptions, Reply, TestApi } from './api.js';
import { type EventStream, openEventStream } from './event-stream.js';
import { eventually } from './eventually.js';
import type { ScriptedModel } from './scripted-model.js';
import { createGate, type Gate, textChunk, textReply } from './scripted-reply.js';

/** How to open a stream. */
export interface WatchOptions {
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another credential than the client's own. */
  readonly key?: string;
}

type Status = Readonly<Record<string, unknown>>;

/** A client of the REST endpoints with one credential. */
export interface RestJobs {
  readonly start: (body: unknown, options?: CallOptions) => Promise<Reply>;
  readonly status: (jobId: string, query?: string) => Promise<Status>;
  /** The status once the job has ended. */
  readonly ended: (jobId: string) => Promise<Status>;
  /** Resolves once the job shows `length` units of text; throws if it ends before. */
  readonly shows: (jobId: string, length: number) => Promise<void>;
  readonly watch: (jobId: string, options?: WatchOptions) => Promise<EventStream>;
}

export function restJobs(test: TestApi, key: string): RestJobs {
  const status = async (jobId: string, query = '') =>
    (await test.call('GET', `/api/jobs/${jobId}/status${query}`, { key })).body as Status; // the tests know its shape
  return {
    status,
    start: (body, options = {}) => test.call('POST', '/api/jobs', { key, body, ...options }),
    ended: (jobId) =>
      eventually('the job has ended', async () => {
        const seen = await status(jobId);
        return typeof seen['completedAt'] === 'number' ? seen : undefined;
      }),
    shows: async (jobId, length) => {
      await eventually(`the job shows ${length} units`, async () => {
        const seen = await status(jobId);
        if (seen['content_length'] === length) return true;
        if (seen['completedAt'] !== null) throw new Error(`it has ended: ${JSON.stringify(seen)}`);
        return undefined;
      });
    },
    watch: (jobId, options = {}) =>
      openEventStream(`${test.url}/api/jobs/${jobId}/stream${options.query ?? ''}`, {
        authorization: `Bearer ${options.key ?? key}`,
        ...options.headers,
      }),
  };
}

/** Starts a job that streams `before`, waits for the gate and streams `after`; resolves once `before` is shown. */
export type GatedStart = (
  before: readonly string[],
  after: readonly string[],
) => Promise<{ readonly jobId: string; readonly gate: Gate }>;

export function gatedStart(jobs: RestJobs, model: ScriptedModel): GatedStart {
  return async (before, after) => {
    const gate = createGate();
    model.enqueue({ body: [...before.map(textChunk), gate, ...after.map(textChunk), ...textReply([]).body] });
    const jobId = jobIdOf(await jobs.start(chatBody()));
    await jobs.shows(jobId, before.join('').length);
    return { jobId, gate };
  };
}

/** The smallest start there is, in a thread of its own. */
export function chatBody(change: object = {}) {
  return { _threadId: newId(), _messageId: newId(), messages: [{ role: 'user', content: 'hi' }], ...change };
}

/** The id in the reply to a start. */
export function jobIdOf({ body }: Reply): string {
  return (body as { jobId: string }).jobId; // the contract's shape
}
