import { Injectable } from '@nestjs/common';

import { JobCloser } from '#approvals';
import { type JobRun, ShownTextsRepository } from '#jobs';
import type { ChatMessage } from '#models';

import { ConversationCalls } from '../calls/conversation-calls.js';
import { UnknownCalls } from '../calls/unknown-calls.js';
import { buildHistory } from '../history/build-history.js';
import { ConversationRepository } from '../history/conversation.repository.js';
import { JobConversations, showLostCalls } from './job-conversations.js';
import type { ConversationOptions } from './node-conversation.js';
import { NodeConversationsRepository, type ResumedConversations } from './node-conversations.repository.js';
import { NodeLoops } from './node-loops.service.js';

const nothing: ResumedConversations = { rounds: [], calls: [], callIds: [], lastRound: 0 };

/** The conversations of workflow nodes: the loop, ledger, limits and requests of chat, many at once in one job. */
@Injectable()
export class NodeConversations {
  constructor(
    private readonly repository: NodeConversationsRepository,
    private readonly loops: NodeLoops,
    private readonly calls: ConversationCalls,
    private readonly unknown: UnknownCalls,
    private readonly closer: JobCloser,
    private readonly threads: ConversationRepository,
    private readonly shown: ShownTextsRepository,
  ) {}

  /**
   * Call it once each time the handler of a job begins, before any node runs: reads what its unfinished nodes have committed, withdraws the
   * unfinished text of an earlier worker, and shows the calls that it lost.
   */
  async open(run: JobRun, options: ConversationOptions = {}): Promise<JobConversations> {
    const isNew = run.job.epoch === 1 && run.totals.rounds === 0;
    const resumed = isNew ? nothing : await this.resume(run);
    const { repository, loops, calls, unknown, closer } = this;
    return new JobConversations(run, { repository, loops, calls, unknown, closer }, options, resumed);
  }

  /** The messages of the job's thread before its own response, valid for a provider; empty for a job without a thread. */
  async history({ job }: JobRun): Promise<readonly ChatMessage[]> {
    if (job.threadId === null) return [];
    const { workspaceId, threadId, messageId } = job;
    const { messages, jobs } = await this.threads.load({ workspaceId, threadId, messageId, jobId: null });
    return buildHistory(messages, jobs);
  }

  /** Closes all open calls and requests of a job that ends before its conversations are opened. */
  async closeAll(run: JobRun): Promise<void> {
    await run.commit();
    await this.closer.close(run.job);
  }

  private async resume(run: JobRun): Promise<ResumedConversations> {
    const { workspaceId, jobId } = run.job;
    const [resumed, shown] = await Promise.all([
      this.repository.readUnfinished(run.job),
      this.shown.sinceLastWait({ workspaceId, jobId, contentLength: run.contentLength }),
    ]);
    run.resumeText(shown);
    showLostCalls(run, resumed);
    return resumed;
  }
}
