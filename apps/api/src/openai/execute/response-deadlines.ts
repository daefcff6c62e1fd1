import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

import { requestKinds, type SubJobInterrupt } from '#jobs';
import { Config, systemClock } from '#platform';
import { subJobPrefix } from '#tools';

import { SubJobInterrupts } from '../completions/sub-job-interrupts.js';
import { stillRunning } from './execute.errors.js';

/** A tool call whose result a `/v1/tools/execute` request waits for. */
export interface AwaitedCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly toolName: string;
  /** Open requests that the caller already knows. */
  readonly known: readonly string[];
}

/** The deadline of one response. */
export interface ResponseDeadline {
  /** Aborts with the error to send instead of a result. */
  readonly signal: AbortSignal;
  end(): void;
}

const askedKinds: ReadonlySet<string> = new Set(requestKinds);

/** Creates the deadlines of responses that wait for a tool call. */
@Injectable()
export class ResponseDeadlines {
  constructor(
    private readonly subJobInterrupts: SubJobInterrupts,
    private readonly config: Config,
  ) {}

  /**
   * Defers a response for at most `OPENAI_MAX_HOLD_MS`, and only until a child job opens a request to a
   * person that the caller does not know of: the decision may take days, so the response names the open request at once
   * (`X-Waiting-Approval`, as the comments of a stream name it). May be called again for the same job.
   */
  begin(call: AwaitedCall, response: ServerResponse): ResponseDeadline {
    const over = new AbortController();
    let open: readonly string[] = [];
    const giveUp = (): void => {
      if (open.length > 0) response.setHeader('X-Waiting-Approval', open.join(', '));
      over.abort(stillRunning());
    };
    const timeout = systemClock.after(this.config.values.OPENAI_MAX_HOLD_MS, giveUp);
    const stopLooking = this.watch(call, (ids) => {
      open = ids;
      if (over.signal.aborted || ids.every((id) => call.known.includes(id))) return;
      // Without this header, OpenAI's SDKs retry at once; without an idempotency key, the retry would start another job.
      response.setHeader('X-Should-Retry', 'false');
      giveUp();
    });
    return {
      signal: over.signal,
      end: () => {
        timeout.cancel();
        stopLooking();
      },
    };
  }

  /** Watches the requests of the sub-job that a call started; other calls have none. Returns a function that stops the watch. */
  private watch(call: AwaitedCall, onOpenRequests: (ids: readonly string[]) => void): () => void {
    if (!call.toolName.startsWith(subJobPrefix)) return () => undefined;
    const watch = this.subJobInterrupts.watch(call, {
      isWanted: () => true,
      onChange: (requests) => {
        onOpenRequests(requests.filter(isAsked).map(({ id }) => id));
      },
    });
    watch.look();
    return () => {
      watch.stop();
    };
  }
}

function isAsked({ kind }: SubJobInterrupt): boolean {
  return askedKinds.has(kind);
}
