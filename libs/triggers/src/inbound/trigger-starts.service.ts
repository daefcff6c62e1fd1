import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, PrincipalsRepository } from '#auth';
import { ChatService, toFilePart } from '#chat';
import { BackgroundJobs, type Idempotency, JobStarter, JobTelemetry, type StartedJob } from '#jobs';
import type { MessageContent } from '#models';
import { AppError, crashpoint } from '#platform';
import { StartWorkflowService, toFileAttachment } from '#workflows';

import { mapInput, type MappedInput } from './map-input.js';
import type { TriggerStart } from './trigger-definition.js';
import { type DueRun, type ReservedRun, type RunRef, TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggersRepository } from './triggers.repository.js';

/** A start that fails because of a limit or an unavailable service is retried for an hour. */
const transient: ReadonlySet<string> = new Set(['job_limit_reached', 'start_in_flight', 'unavailable', 'thread_busy']);
const tryAgainMs = 30_000;
const rightLost = {
  api: 'The member who saved the trigger may not manage triggers any more. Save it again.',
  file: 'The owner for whom the trigger files were loaded has left. Reload the files: send SIGHUP to the server, or restart it.',
} as const;
/** Runs of a trigger that one message starts, so that another process gets its turn. */
const startedInTurn = 20;
const giveUpMs = 3_600_000;

/**
 * Starts the jobs of triggers, with the rights of the principal that saved the trigger. The key of the run is the idempotency key of the job,
 * so a run starts one job, however often its message is delivered.
 */
@Injectable()
export class TriggerStarts {
  constructor(
    private readonly runs: TriggerRunsRepository,
    private readonly triggers: TriggersRepository,
    private readonly principals: PrincipalsRepository,
    private readonly chats: ChatService,
    private readonly workflows: StartWorkflowService,
    private readonly starter: JobStarter,
    private readonly telemetry: JobTelemetry,
    private readonly background: BackgroundJobs,
  ) {}

  /** Starts the run and the next runs of its trigger. Does nothing for a run that is not due any more. */
  async start(ref: RunRef): Promise<void> {
    let triggerId: string | undefined;
    for (let started = 0; started < startedInTurn; started++) {
      const reserved = await this.runs.reserve(ref, triggerId);
      if (reserved === null) return;
      await this.startReserved(reserved);
      ({ triggerId } = reserved.run);
    }
  }

  private async startReserved({ run, ...ref }: ReservedRun): Promise<void> {
    try {
      crashpoint('trigger-reserved');
      const { jobId } = await this.startJob(ref, run);
      crashpoint('trigger-started');
      await this.runs.settle(ref, { jobId });
    } catch (error) {
      await this.refused(ref, run, error);
      if (!(error instanceof AppError || error instanceof Refusal))
        this.telemetry.logger.warn({ err: error, ...ref }, 'a trigger started no job');
    }
  }

  private async startJob({ workspaceId }: RunRef, run: DueRun): Promise<StartedJob> {
    const { definition, enabled, savedBy, owner, origin, event } = run;
    if (!enabled || definition.start === null)
      throw refusal(
        'trigger_disabled',
        'The trigger was disabled before its job started. Enable it; its next events start jobs again.',
      );
    this.background.assertOn(); // no client follows the job
    const principal = await this.principals.find(workspaceId, savedBy);
    if (principal === null || !abilityOf(principal).can('manage', asSubject('Trigger', { workspaceId })))
      throw refusal('right_lost', rightLost[origin]);
    const input = mapInput(definition.start, event);
    if (!input.ok) throw refusal('bad_request', input.problem);
    // The user stays, so that a thread continues when another member saves the trigger.
    return this.accept(
      { ...principal, userId: owner ?? principal.userId },
      { start: definition.start, input, idempotency: idempotencyOf(run) },
    );
  }

  private accept(
    principal: MemberPrincipal,
    {
      start,
      input,
      idempotency,
    }: {
      readonly start: TriggerStart;
      readonly input: MappedInput & { ok: true };
      readonly idempotency: Idempotency;
    },
  ): Promise<StartedJob> {
    const { prompt, thread: threadRef, attachments } = input;
    // Jobs of one thread run one after the other.
    const common = {
      threadRef,
      idempotency,
      whenBusy: threadRef === null ? null : 'enqueue',
      providerKey: null,
    } as const;
    if (start.kind === 'workflow')
      return this.workflows.start(principal, {
        ...common,
        ...{ workflowRef: start.workflow ?? '', version: null, prompt, createThread: threadRef !== null },
        ...{
          messageClientId: null,
          history: [],
          attachments: attachments.map(toFileAttachment),
          known: {},
          resumeFrom: null,
        },
      });
    const content: MessageContent =
      attachments.length === 0 ? prompt : [{ type: 'text', text: prompt }, ...attachments.map(toFilePart)];
    return this.chats.start(principal, {
      ...common,
      ...(start.agent === null ? {} : { agent: { type: 'agent', ref: start.agent } as const }),
      ...{
        createThread: true,
        messageClientId: null,
        model: start.model,
        history: 'thread',
        tools: [],
        toolRuntimes: {},
      },
      ...{ messages: [{ role: 'user', content }], toolChoice: null, parameters: {}, backgroundMode: null },
    });
  }

  private async refused(ref: RunRef, run: DueRun, error: unknown): Promise<void> {
    const isKnown = error instanceof AppError || error instanceof Refusal;
    const shown = isKnown
      ? { code: error.code, message: error.message, retryable: error instanceof AppError && error.retryable }
      : { code: 'internal', message: 'The job could not be started', retryable: true };
    if ((!isKnown || transient.has(error.code)) && run.ageMs <= giveUpMs + (run.definition.start?.delay ?? 0)) {
      await this.runs.reschedule(ref, { error: shown, delayMs: tryAgainMs });
      return;
    }
    // An earlier attempt may have started the job, before the trigger was changed.
    const { workspaceId } = ref;
    const known = await this.starter.replay({ workspaceId, principal: run.savedBy, idempotency: idempotencyOf(run) });
    if (known !== null) {
      await this.runs.settle(ref, { jobId: known.jobId });
      return;
    }
    await this.runs.settle(ref, { error: shown });
    await this.triggers.addFailure({ workspaceId, id: run.triggerId }, shown.message);
  }
}

/** A start that cannot succeed later. */
class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

function refusal(code: string, message: string): Refusal {
  return new Refusal(code, message);
}

/**
 * Does not depend on the trigger's settings or on the member who saved it, so two attempts find the same job even if the trigger was changed in
 * between. The key ends with the depth of the chain, so that the end of the job knows the depth even before the run is settled.
 */
function idempotencyOf({ triggerId, key: runKey, depth }: DueRun): Idempotency {
  const base = `trigger:${triggerId}:${sha256(runKey)}`;
  const key = depth === 0 ? base : `${base}:${depth}`;
  return { key, requestHash: sha256(key), owner: `trigger:${triggerId}` };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The depth of the chain after a job with this idempotency key. */
export function depthAfter(key: string | null): number {
  const match = /^trigger:[^:]+:[0-9a-f]{64}(?::(\d{1,4}))?$/.exec(key ?? '');
  return match === null ? 0 : Number(match[1] ?? 0) + 1;
}
