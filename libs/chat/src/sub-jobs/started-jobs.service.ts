import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { type Principal, PrincipalsRepository } from '#auth';
import { ModelCatalog } from '#models';
import { systemClock } from '#platform';
import { canonicalJson, matchesGlob, type ToolContext } from '#tools';

import { ChatService } from '../chat.service.js';
import { CallingChats, type HandedDown } from './calling-chats.service.js';
import { type EndOfStarted, type StartedBelow, StartedJobsRepository } from './started-jobs.repository.js';
import { modelUnavailable, nothingStarts, startedJobUnavailable } from './sub-jobs.errors.js';

/** Rounds of a job that a call has started. */
const maxRounds = 10;
/** How long a question about a job that runs is held, so that a model need not ask again and again. */
const timeoutMs = 8_000;
const pollMs = 400;

/** What a call wants to be done. */
export interface WantedJob {
  readonly model: string;
  readonly prompt: string;
}

/** Chats that calls of other jobs start: with the rights, the rules, the key and at most the tools of those. */
@Injectable()
export class StartedJobs {
  constructor(
    private readonly chats: ChatService,
    private readonly jobs: StartedJobsRepository,
    private readonly calling: CallingChats,
    private readonly principals: PrincipalsRepository,
    private readonly models: ModelCatalog,
  ) {}

  /**
   * Gives the job that this call has started, the same one however often it is called. Throws for a model that is not to be had, for
   * work that no person has begun or may begin, and what `ChatService.start` throws.
   */
  async start(wanted: WantedJob, context: ToolContext): Promise<StartedBelow> {
    const { workspaceId, jobId, idempotencyKey: key } = context;
    const handed = await this.calling.of(context);
    const requester = await this.principals.find(workspaceId, context.principal);
    if (handed === null || requester === null) throw nothingStarts();
    if (!(await this.isAvailable(requester, wanted.model, handed))) throw modelUnavailable(wanted.model);
    const requestHash = createHash('sha256').update(canonicalJson(wanted)).digest('hex');
    const started = await this.chats.start(requester, {
      ...{ threadRef: null, createThread: true, messageClientId: null, history: 'thread', toolRuntimes: {} },
      ...{ toolChoice: null, parameters: {}, whenBusy: null, backgroundMode: undefined },
      model: wanted.model,
      messages: [{ role: 'user', content: wanted.prompt }],
      tools: handed.tools,
      ...(handed.toolApproval === null ? {} : { toolApproval: handed.toolApproval }),
      below: {
        parent: { jobId, callId: handed.job.toolCallId },
        callerPolicies: handed.callerPolicies,
        maxRounds,
      },
      idempotency: { key, requestHash },
      providerKey: handed.providerKey,
    });
    const handle = await this.jobs.find(workspaceId, jobId, started.jobId);
    if (handle === null) throw startedJobUnavailable(started.jobId);
    return handle;
  }

  /** Chats that the job has started, or an earlier turn of its thread, newest first. */
  list({ workspaceId, jobId }: ToolContext): Promise<readonly StartedBelow[]> {
    return this.jobs.list(workspaceId, jobId);
  }

  /** How far such a job is. As long as nothing can be said of one that runs, the question is held for a while. */
  async result(startedId: string, context: ToolContext): Promise<EndOfStarted> {
    const { workspaceId, jobId, signal } = context;
    const giveUpAt = systemClock.monotonic() + timeoutMs;
    for (;;) {
      const found = await this.jobs.findEnd(workspaceId, jobId, startedId);
      if (found === null) throw startedJobUnavailable(startedId);
      const isOnItsWay = found.status === 'queued' || found.status === 'running';
      if (!isOnItsWay || systemClock.monotonic() >= giveUpAt) return found;
      await pause(signal);
    }
  }

  /** The model of the caller, and what may be asked for by name in the workspace. */
  private async isAvailable({ workspaceId }: Principal, model: string, { job }: HandedDown): Promise<boolean> {
    if (model === job.model) return true;
    const direct = await this.models.directModels(workspaceId);
    return direct.some((pattern) => pattern === model || matchesGlob(pattern, model));
  }
}

/** Throws the signal's reason when that comes first. */
async function pause(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = () => {
    resolve(undefined);
  };
  const timer = systemClock.after(pollMs, end);
  signal.addEventListener('abort', end, { once: true });
  await promise;
  timer.cancel();
  signal.removeEventListener('abort', end);
  signal.throwIfAborted();
}
