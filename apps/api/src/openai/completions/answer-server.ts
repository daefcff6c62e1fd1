import { Injectable } from '@nestjs/common';

import { scopeOf } from '#auth';
import { EventFeed, type FeedItem, JobStopper } from '#jobs';
import { systemClock } from '#platform';

import { serverBusy } from '../../errors/to-openai-reply.js';
import { ViewerAccess } from '../../streams/viewer-access.js';
import type { AnswerPart } from '../answer/answer-part.js';
import { AnswerReader } from '../answer/answer-reader.js';
import { invalidKey } from '../openai-principal.guard.js';
import { AnswerContext } from './answer-context.js';
import type { AnswerListener } from './answer-listener.js';
import type { AnswerSink } from './answer-sink.js';
import type { OpenedAnswer } from './opened-answer.js';
import { RequestsBelow } from './requests-below.js';
import { ResponseSession } from './response-session.js';
import { StreamedSink } from './streamed-sink.js';
import { WholeSink } from './whole-sink.js';

/** Tells answers to their clients, one by one, from the log of their jobs. */
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
   * Returns when the answer was told or its client is gone; the job goes on unless the client wanted otherwise. Throws what is
   * to be said instead of an answer, before anything was sent.
   */
  async serve({ answer, isAttached }: OpenedAnswer, listener: AnswerListener): Promise<void> {
    const { format, afterRound, job, workspaceId } = answer;
    const { response } = listener;
    const secrets = await this.context.secretsOf(workspaceId);
    const catchUpTo = isAttached ? job.lastSeq : 0;
    const shown = format === 'agent' ? 'inline' : format;
    const reader = new AnswerReader({ format: shown, kind: job.kind, afterRound, catchUpTo, secrets });
    const telling = new ResponseSession(answer, listener, this.context.values.OPENAI_MAX_HOLD_MS);
    const access = this.access.watch({ ...listener, workspaceId, createdBy: job.createdBy }, () => {
      telling.stop(invalidKey());
    });
    const sink = this.sinkOf(telling, reader, () => {
      // A lost hint must not keep a silent stream open.
      void access.check().then(
        (lost) => {
          if (lost !== null) telling.stop(invalidKey());
        },
        () => undefined,
      );
    });
    const below = this.below.watch(answer, {
      isWanted: () => reader.hasSubJobs,
      onChange: (requests) => {
        this.tell(reader.takeBelow(requests), { telling, reader, sink }).catch((error: unknown) => {
          telling.stop(error);
        });
      },
    });
    try {
      for await (const item of this.follow(telling)) {
        if ((await access.check()) !== null) telling.stop(invalidKey());
        if (telling.isStopped) break;
        await this.learn(item, telling, reader);
        await this.tell(reader.take(item), { telling, reader, sink });
        if (reader.isOver) return;
        below.look();
      }
      if (!telling.isLeft && !response.writableEnded) sink.fail(telling.failure ?? serverBusy());
    } finally {
      below.stop();
      access.stop();
      telling.close();
      if (telling.isLeft && listener.cancels) await this.stopper.stop(scopeOf(listener.principal), answer.jobId);
    }
  }

  /** Reads the agent that `auto` chose and its tool event format before a call of that agent is sent. */
  private async learn(item: FeedItem, telling: ResponseSession, reader: AnswerReader): Promise<void> {
    const { answer, listener } = telling;
    const isNew = await telling.learnAgent(item, () => this.context.agentOf(listener.principal, answer.id));
    if (isNew && answer.format === 'agent') reader.useFormat(await this.context.formatOfChosen(answer));
  }

  private follow({ answer, signal }: ResponseSession) {
    const { workspaceId, jobId, afterSeq: after } = answer;
    return this.feed.follow({ workspaceId, jobId, after, signal });
  }

  private async tell(
    parts: readonly AnswerPart[],
    {
      telling,
      reader,
      sink,
    }: { readonly telling: ResponseSession; readonly reader: AnswerReader; readonly sink: AnswerSink },
  ): Promise<void> {
    const isRefused =
      parts.some(isRefusal) ||
      (await telling.isRefused(reader.waitsFor, (answer) => this.context.refusesToWait(answer)));
    if (!isRefused) {
      await sink.take(parts);
      return;
    }
    // Nothing is said of a wait that is none: the end that follows is then the first thing, if it can be.
    const told = parts.filter(({ type }) => type !== 'comment');
    if (told.length > 0) await sink.take(told);
  }

  private sinkOf(telling: ResponseSession, reader: AnswerReader, onPing: () => void): AnswerSink {
    const { response, stream, includeUsage } = telling.listener;
    const head = () => telling.head;
    if (!stream) return new WholeSink(response, head);
    const { SLOW_VIEWER_BYTES: slowBytes, SLOW_VIEWER_MS: slowMs } = this.context.values;
    const hasBegun = () => reader.hasBegun;
    const waitsFor = () => reader.waitsFor;
    const pace = { clock: systemClock, slowBytes, slowMs, onPing };
    return new StreamedSink({ response, includeUsage, head, hasBegun, waitsFor, ...pace });
  }
}

/** The job was cancelled for whom it waited for: somebody else may have looked first. */
function isRefusal(part: AnswerPart): boolean {
  return part.type === 'end' && part.error?.status === 400;
}
