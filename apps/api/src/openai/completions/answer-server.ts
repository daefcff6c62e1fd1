import { Injectable } from '@nestjs/common';
import type { Response } from 'express';

import { scopeOf } from '#auth';
import { ViewerAccess } from '#auth/api';
import { EventFeed, type FeedItem, JobStopper } from '#jobs';
import { systemClock } from '#platform';

import { serverBusy } from '../../errors/to-openai-reply.js';
import type { AnswerPart } from '../answer/answer-part.js';
import { AnswerReader } from '../answer/answer-reader.js';
import type { AnswerHead } from '../answer/chunk-writer.js';
import { CompletionBuilder } from '../answer/completion.js';
import { invalidKey } from '../openai-principal.guard.js';
import { AnswerContext } from './answer-context.js';
import type { AnswerListener } from './answer-listener.js';
import type { AnswerSink } from './answer-sink.js';
import type { OpenedAnswer } from './opened-answer.js';
import { RequestsBelow } from './requests-below.js';
import { ResponseSession } from './response-session.js';
import { StreamedSink } from './streamed-sink.js';

/** An answer as one reply, when it is whole. */
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
    private readonly below: RequestsBelow,
  ) {}

  /**
   * Returns when the response is sent or its client has disconnected; the job keeps running unless the client asked to cancel it.
   * Before anything was sent, throws the error to send instead.
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
      // A lost hint must not keep a silent stream open.
      void access.check().then(
        (lost) => {
          if (lost !== null) session.stop(invalidKey());
        },
        () => undefined,
      );
    });
    const below = this.below.watch(answer, {
      isWanted: () => reader.hasSubJobs,
      onChange: (requests) => {
        this.send(reader.takeBelow(requests), { session, reader, sink }).catch((error: unknown) => {
          session.stop(error);
        });
      },
    });
    try {
      for await (const item of this.follow(session)) {
        if ((await access.check()) !== null) session.stop(invalidKey());
        if (session.isStopped) break;
        await this.learn(item, session, reader);
        await this.send(reader.take(item), { session, reader, sink });
        if (reader.isOver) return;
        below.look();
      }
      if (!session.isLeft && !response.writableEnded) sink.fail(session.failure ?? serverBusy());
    } finally {
      below.stop();
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
    // A refused wait sends no comment: if possible, the end that follows is then the first thing sent.
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

/** The job was cancelled because it waited for a person; another process may have noticed that first. */
function isRefusal(part: AnswerPart): boolean {
  return part.type === 'end' && part.error?.status === 400;
}
