import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';
import type { Response } from 'express';

import { scopeOf } from '#auth';
import { ViewerAccess } from '#auth/api';
import { EventFeed, type FeedItem, JobStopper } from '#jobs';
import { type Clock, systemClock, type Timer, timeSlice } from '#platform';

import { serverBusy } from '../../errors/to-openai-reply.js';
import { SseWriter } from '../../streams/sse-writer.js';
import type { AnswerPart } from '../answer/answer-part.js';
import { AnswerReader } from '../answer/answer-reader.js';
import { type AnswerHead, ChunkWriter, commentLine } from '../answer/chunk-writer.js';
import { CompletionBuilder } from '../answer/completion.js';
import { invalidKey } from '../openai-principal.guard.js';
import { AnswerContext } from './answer-context.js';
import type { OpenedAnswer } from './opened-answer.js';
import { type AnswerListener, ResponseSession } from './response-session.js';
import { SubJobInterrupts } from './sub-job-interrupts.js';

/** The destination of a response: a stream, or one body at the end. */
interface AnswerSink {
  /** Takes the next parts, and waits until the client can take more. Throws the `OpenAiError` of a failed response. */
  take(parts: readonly AnswerPart[]): Promise<void>;
  /** Ends the response so that the client cannot mistake it for a complete one. Throws `error` if nothing was sent. */
  fail(error: unknown): void;
}

/** Sends the whole response as one body. */
class WholeSink implements AnswerSink {
  private readonly builder = new CompletionBuilder();

  constructor(
    private readonly response: Response,
    private readonly head: () => AnswerHead,
  ) {}

  take(parts: readonly AnswerPart[]): Promise<void> {
    for (const part of parts) this.builder.add(part);
    if (parts.some(({ type }) => type === 'end')) {
      const { completion, usageEstimated } = this.builder.build(this.head());
      if (usageEstimated) this.response.setHeader('X-Usage-Estimated', 'true');
      this.response.json(completion);
    }
    return Promise.resolve();
  }

  fail(error: unknown): void {
    throw error;
  }
}

/** Sends each client its response from the event log of the job. */
@Injectable()
export class AnswerServer {
  constructor(
    private readonly feed: EventFeed,
    private readonly stopper: JobStopper,
    private readonly access: ViewerAccess,
    private readonly context: AnswerContext,
    private readonly subJobInterrupts: SubJobInterrupts,
  ) {}

  /**
   * Returns when the response is sent or its client has disconnected. The job keeps running unless the client asked to cancel it. If
   * nothing was sent yet, throws the error to send instead.
   */
  async serve({ answer, isAttached }: OpenedAnswer, listener: AnswerListener): Promise<void> {
    const { format, afterRound, job, workspaceId } = answer;
    const { response } = listener;
    const secrets = await this.context.secretsOf(workspaceId);
    const catchUpTo = isAttached ? job.lastSeq : 0;
    const shown = format === 'agent' ? 'inline' : format;
    const reader = new AnswerReader({ format: shown, kind: job.kind, afterRound, catchUpTo, secrets });
    const session = new ResponseSession(answer, listener, this.context.values.OPENAI_MAX_HOLD_MS);
    const access = this.access.watch({ ...listener, workspaceId, createdBy: job.createdBy }, () => {
      session.stop(invalidKey());
    });
    const sink = this.sinkOf(session, reader, () => {
      // A silent stream must end even if the hint about a lost right did not arrive.
      void access.check().then(
        (lost) => {
          if (lost !== null) session.stop(invalidKey());
        },
        () => undefined,
      );
    });
    let taking: Promise<unknown> = Promise.resolve();
    const watch = this.subJobInterrupts.watch(answer, {
      isWanted: () => reader.hasSubJobs,
      onChange: (requests) => {
        const send = () =>
          reader.isOver || session.isStopped
            ? undefined
            : this.send(reader.takeOfSubJobs(requests), { session, reader, sink });
        taking.then(send).catch((error: unknown) => {
          session.stop(error);
        });
      },
    });
    try {
      for await (const item of this.follow(session)) {
        if ((await access.check()) !== null) session.stop(invalidKey());
        if (session.isStopped) break;
        await this.learn(item, session, reader);
        const steps = takeAll(reader, item, session);
        taking = steps;
        const parts = await steps;
        if (parts === undefined) break;
        await this.send(parts, { session, reader, sink });
        if (reader.isOver) return;
        watch.look();
      }
      if (!session.isLeft && !response.writableEnded) sink.fail(session.failure ?? serverBusy());
    } finally {
      watch.stop();
      access.stop();
      session.close();
      if (session.isLeft && listener.cancels) await this.stopper.stop(scopeOf(listener.principal), answer.jobId);
    }
  }

  /** Reads the agent that `auto` chose and its tool event format before a call of that agent is sent. */
  private async learn(item: FeedItem, session: ResponseSession, reader: AnswerReader): Promise<void> {
    const { answer, listener } = session;
    const isNew = await session.learnAgent(item, () => this.context.agentOf(listener.principal, answer.id));
    if (isNew && answer.format === 'agent') reader.useFormat(await this.context.formatOfChosen(answer));
  }

  private follow({ answer, signal }: ResponseSession) {
    const { workspaceId, jobId, afterSeq: after } = answer;
    return this.feed.follow({ workspaceId, jobId, after, signal });
  }

  private async send(
    parts: readonly AnswerPart[],
    {
      session,
      reader,
      sink,
    }: { readonly session: ResponseSession; readonly reader: AnswerReader; readonly sink: AnswerSink },
  ): Promise<void> {
    const isRefused =
      parts.some(isRefusal) ||
      (await session.isRefused(reader.waitsFor, (answer) => this.context.refusesToWait(answer)));
    if (!isRefused) {
      await sink.take(parts);
      return;
    }
    // Comments of a refused wait are not sent, so that the end can still be the first data that the client gets.
    const content = parts.filter(({ type }) => type !== 'comment');
    if (content.length > 0) await sink.take(content);
  }

  private sinkOf(session: ResponseSession, reader: AnswerReader, onPing: () => void): AnswerSink {
    const { response, stream, includeUsage } = session.listener;
    const head = () => session.head;
    if (!stream) return new WholeSink(response, head);
    const { SLOW_VIEWER_BYTES: slowBytes, SLOW_VIEWER_MS: slowMs } = this.context.values;
    const hasBegun = () => reader.hasBegun;
    const waitsFor = () => reader.waitsFor;
    const pace = { clock: systemClock, slowBytes, slowMs, onPing };
    return new StreamedSink({ response, includeUsage, head, hasBegun, waitsFor, ...pace });
  }
}

/** Lets other work of the process run between two calls of an item: a snapshot may have hundreds. Undefined: the session has stopped. */
async function takeAll(
  reader: AnswerReader,
  item: FeedItem,
  session: ResponseSession,
): Promise<readonly AnswerPart[] | undefined> {
  const steps = reader.take(item);
  for (;;) {
    if (timeSlice.isOver) await timeSlice.nextTurn();
    if (session.isStopped) return undefined;
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Whether a part ends a response whose job was cancelled because it would have waited for a person. Another process may have cancelled it. */
function isRefusal(part: AnswerPart): boolean {
  return part.type === 'end' && part.error?.status === 400;
}

interface StreamedSinkParts {
  readonly response: ServerResponse;
  readonly clock: Clock;
  readonly includeUsage: boolean;
  /** Called once, before the first chunk. */
  readonly head: () => AnswerHead;
  /** Whether the model or a tool has started. */
  readonly hasBegun: () => boolean;
  /** Requests that people have to decide before the job continues. */
  readonly waitsFor: () => readonly string[];
  readonly slowBytes: number;
  readonly slowMs: number;
  /** Runs with every ping. */
  readonly onPing: () => void;
}

const pingMs = 15_000;
/** The client gets the headers after at most this time, even if there is no event. */
const longestSilenceMs = 10_000;

/**
 * Sends a response as an event stream. The headers are sent with the first event, or after 10 s; a failure before that is a separate error
 * response. The stream requests items only when the client can take them, so it has no queue.
 */
export class StreamedSink implements AnswerSink {
  private readonly writer: SseWriter;
  private readonly opening: Timer;
  private chunks: ChunkWriter | undefined;

  constructor(private readonly parts: StreamedSinkParts) {
    const { response, clock, slowBytes, slowMs, onPing } = parts;
    const pingText = () => this.pingText();
    this.writer = new SseWriter(response, { clock, pingMs, slowBytes, slowMs, onPing, opening: '', pingText });
    this.opening = clock.after(longestSilenceMs, () => this.open());
    response.once('close', () => {
      this.opening.cancel();
    });
  }

  async take(parts: readonly AnswerPart[]): Promise<void> {
    const end = parts.find((part) => part.type === 'end');
    if (this.chunks === undefined) {
      const hasBegun = this.parts.hasBegun();
      // Nothing was sent yet, and this error is all there is to send.
      if (end !== undefined && end.error !== null && (!hasBegun || parts.length === 1)) throw end.error;
      if (!hasBegun && parts.length === 0) return;
    }
    const chunks = this.open();
    const text = parts.map((part) => chunks.lines(part)).join('');
    if (end === undefined) this.writer.write(text);
    else this.writer.end(text);
    if (this.writer.isCongested && (await this.writer.drained()) === 'slow') this.writer.cut('');
  }

  fail(error: unknown): void {
    this.opening.cancel();
    if (this.chunks === undefined) throw error;
    this.writer.cut('');
  }

  private open(): ChunkWriter {
    this.opening.cancel();
    if (this.chunks !== undefined) return this.chunks;
    const { head, includeUsage } = this.parts;
    this.chunks = new ChunkWriter(head(), { includeUsage });
    if (!this.writer.isOver) {
      this.writer.open();
      this.writer.write(this.chunks.role());
    }
    return this.chunks;
  }

  private pingText(): string {
    const waiting = this.parts.waitsFor();
    return waiting.length === 0
      ? commentLine('ping')
      : waiting.map((id) => commentLine(`waiting approval ${id}`)).join('');
  }
}
