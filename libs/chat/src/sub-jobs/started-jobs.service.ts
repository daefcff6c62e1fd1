import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { type Principal, PrincipalsRepository } from '#auth';
import { ModelCatalog } from '#models';
import { AppError, systemClock, waitUnlessAborted } from '#platform';
import { canonicalJson, matchesGlob, type ToolContext } from '#tools';

import { ChatService } from '../chat.service.js';
import { CallingChats, type InheritedSettings } from './calling-chats.service.js';
import { type EndOfSubJob, StartedJobsRepository, type StartedSubJob } from './started-jobs.repository.js';

/** The error is the same for an unknown model and for one that the workspace does not allow. */
const modelUnavailable = (name: string) =>
  new AppError({ code: 'bad_request', message: `Model "${name.slice(0, 200)}" is not available.`, field: 'model' });

/** The error is the same for every job that the caller may not read, and for an absent one. */
const startedJobUnavailable = (id: string) =>
  new AppError({ code: 'not_found', message: `Job "${id.slice(0, 64)}" is not available.` });

/** A job without a user cannot start sub-jobs: they write to threads, and a thread belongs to a user. */
const nothingStarts = () =>
  new AppError({
    code: 'forbidden',
    message: 'This job cannot start jobs: its requester is not a user who may start jobs.',
  });

/** Limit of rounds of a sub-job. */
const maxRounds = 10;
/** How long `result` waits for a running job, in ms, so that a model need not ask repeatedly. */
const timeoutMs = 8_000;
const pollMs = 400;

/** The arguments of `start_job`. */
export interface WantedJob {
  readonly model: string;
  readonly prompt: string;
}

/** Starts sub-jobs for tool calls: with the rights, the rules, the key and at most the tools of the calling job. */
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
   * Returns the job that this call has started, the same job for every attempt. Throws if the model is not available, or if no user has
   * started the calling job or its user may no longer start jobs. Also throws the errors of `ChatService.start`.
   */
  async start(wanted: WantedJob, context: ToolContext): Promise<StartedSubJob> {
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
      subJob: {
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

  /** Sub-jobs of the job or of an earlier turn of its thread, newest first. */
  list({ workspaceId, jobId }: ToolContext): Promise<readonly StartedSubJob[]> {
    return this.jobs.list(workspaceId, jobId);
  }

  /** The state of a sub-job. If it runs, waits up to 8 s for its end. */
  async result(startedId: string, context: ToolContext): Promise<EndOfSubJob> {
    const { workspaceId, jobId, signal } = context;
    const giveUpAt = systemClock.monotonic() + timeoutMs;
    for (;;) {
      const found = await this.jobs.findEnd(workspaceId, jobId, startedId);
      if (found === null) throw startedJobUnavailable(startedId);
      const isOnItsWay = found.status === 'queued' || found.status === 'running';
      if (!isOnItsWay || systemClock.monotonic() >= giveUpAt) return found;
      await waitUnlessAborted(pollMs, systemClock, signal);
    }
  }

  /** Whether the model is the parent's, or one that the workspace allows by name. */
  private async isAvailable({ workspaceId }: Principal, model: string, { job }: InheritedSettings): Promise<boolean> {
    if (model === job.model) return true;
    const direct = await this.models.directModels(workspaceId);
    return direct.some((pattern) => pattern === model || matchesGlob(pattern, model));
  }
}
