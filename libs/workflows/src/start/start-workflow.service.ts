import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, type Principal, systemPrincipal } from '#auth';
import { AttachedFiles, partsOf } from '#chat';
import { StartConditionFailed, type StartedJob, StartFilters } from '#jobs';
import { AppError, DatabaseUnavailable, defined, newId, toStorableText } from '#platform';

import { contentHash } from '../definition/content-hash.js';
import { toJson } from '../definitions/read-definition.js';
import { VersionsInUse } from '../definitions/versions-in-use.js';
import type { WorkflowInput } from '../definitions/workflow-input.js';
import { workflowNotFound, workflowNotPublished, workflowVersionNotFound } from '../definitions/workflows.errors.js';
import type { Attachment } from '../engine/node-executor.js';
import { toPart, toStored } from '../nodes/attachments.js';
import { assertFits } from './assert-fits.js';
import { type ReadyVersion, ReadyVersions } from './ready-versions.js';
import { workflowPayloadMismatch, workflowStale, workflowVersionMismatch } from './start.errors.js';
import type { KnownDefinition, StartWorkflow } from './start-workflow.js';
import { type StartableVersion, StartableVersionsRepository, type StartRef } from './startable-versions.repository.js';
import { stillStartable } from './still-startable.part.js';
import { fromKnownRun } from './to-resume-from.js';
import { type ReadyWorkflow, WorkflowLaunch } from './workflow-launch.js';

const longestTitle = 80;

/** The input of a start without a person. */
export type UnattendedStart = Pick<StartWorkflow, 'workflowRef' | 'prompt' | 'idempotency'>;

/** The input of a start by a call of another job. */
export type StartForCall = Pick<StartWorkflow, 'workflowRef' | 'version' | 'prompt' | 'idempotency' | 'providerKey'> &
  Required<Pick<StartWorkflow, 'parent' | 'inputs' | 'toolApproval' | 'callerPolicies'>>;

/** The defaults of a start that sets only the required fields. */
const nothingElse = {
  ...{ version: null, threadRef: null, createThread: false, messageClientId: null, history: [], attachments: [] },
  ...{ whenBusy: null, providerKey: null, known: {}, resumeFrom: null },
} as const;

interface FoundVersion {
  readonly found: StartableVersion;
  /** Absent: the version was just looked up. */
  readonly condition?: ReadyWorkflow['condition'];
}

/** Accepts workflow jobs for all endpoints: finds the version, checks that it can run, pins it, and calls the job starter. */
@Injectable()
export class StartWorkflowService {
  constructor(
    private readonly startable: StartableVersionsRepository,
    private readonly versions: VersionsInUse,
    private readonly ready: ReadyVersions,
    private readonly launch: WorkflowLaunch,
    private readonly attached: AttachedFiles,
    private readonly filters: StartFilters,
  ) {}

  /**
   * Accepts a job that runs a published version; it is committed when this returns. A repeated key returns its job, even if the
   * workflow has changed since. Throws `forbidden`, `not_found` (workflow, version, thread), `workflow_not_published`,
   * `workflow_stale`, `workflow_version_mismatch`, `workflow_payload_mismatch`, `too_large`, `workflow_invalid` with the issues,
   * `bad_request`, `missing_model_key`, and what `JobStarter.start` throws.
   */
  async start(principal: MemberPrincipal, request: StartWorkflow): Promise<StartedJob> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    return this.accept(principal, request);
  }

  /**
   * Accepts a job without a requester: it acts for Nightshift itself and belongs to no thread. The caller must ensure that the job
   * is authorized. Throws as `start`.
   */
  startUnattended(workspaceId: string, options: UnattendedStart): Promise<StartedJob> {
    return this.accept(systemPrincipal(workspaceId), { ...nothingElse, ...options });
  }

  /**
   * Accepts the job that a tool call runs, without a thread. The caller must check the right of `principal`, who started the
   * calling job. Throws as `start`, and `sub_job_limit`, `sub_job_unwanted`.
   */
  startForCall(principal: Principal, options: StartForCall): Promise<StartedJob> {
    return this.accept(principal, { ...nothingElse, ...options });
  }

  private async accept(principal: Principal, request: StartWorkflow): Promise<StartedJob> {
    const { workspaceId } = principal;
    assertFits(request);
    const replayed = await this.replay(principal, request);
    if (replayed !== null) return replayed;
    assertCan(abilityOf(principal), { action: 'read', subject: 'Workflow', row: { workspaceId } });
    const recalled = this.recall(workspaceId, request);
    if (recalled !== undefined) return this.startRecalled(principal, request, recalled);
    return this.startVersion(principal, request, { found: await this.find(workspaceId, request) });
  }

  /** The job that the idempotency key of the request started before. */
  private async replay(principal: Principal, { idempotency }: StartWorkflow): Promise<StartedJob | null> {
    return idempotency === null ? null : this.launch.replay(principal, idempotency);
  }

  /**
   * Starts a version that the request named at an earlier look-up. The condition of the start checks that it still does. Before the caller gets
   * a refusal, another look-up checks it.
   */
  private async startRecalled(
    principal: Principal,
    request: StartWorkflow,
    recalled: StartableVersion,
  ): Promise<StartedJob> {
    try {
      const condition = stillStartable(refOf(request), recalled);
      return await this.startVersion(principal, request, { found: recalled, condition });
    } catch (error) {
      const isRefusal = error instanceof AppError && !(error instanceof DatabaseUnavailable);
      if (!isRefusal && !(error instanceof StartConditionFailed)) throw error;
      const replayed = await this.replay(principal, request); // another request with this key may have started its job meanwhile
      if (replayed !== null) return replayed;
      this.startable.forget(principal.workspaceId, refOf(request));
      const present = await this.find(principal.workspaceId, request);
      if (isRefusal && present.id === recalled.id && present.version === recalled.version) throw error;
      return this.startVersion(principal, request, { found: present });
    }
  }

  private async startVersion(
    principal: Principal,
    request: StartWorkflow,
    { found, condition }: FoundVersion,
  ): Promise<StartedJob> {
    const ready = await this.check(principal.workspaceId, request, found);
    return this.launch.start(principal, {
      workflow: { id: found.id, version: found.version },
      input: toInput({ ...request, attachments: await this.accepted(principal, request.attachments) }, ready),
      thread: toThread(request),
      messageClientId: request.messageClientId,
      ...(request.whenBusy === null ? {} : { whenBusy: request.whenBusy }),
      ...defined({ startAt: request.startAt, labels: request.labels }),
      idempotency: request.idempotency,
      retryOf: null,
      ...defined({ parent: request.parent }),
      asksModels: ready.asksModels,
      providerKey: request.providerKey,
      ...defined({ extraRows: request.extraRows, condition }),
    });
  }

  /**
   * The version that an earlier start of the workflow found in this process. Undefined if there was none. Also undefined with hooks of job
   * starts, which must not run again for a second attempt, and for a client that sends the time of its copy, which is compared with the draft.
   */
  private recall(workspaceId: string, request: StartWorkflow): StartableVersion | undefined {
    if (this.filters.filter !== null || request.known.updatedAt !== undefined) return undefined;
    return this.startable.recall(workspaceId, refOf(request));
  }

  private async find(workspaceId: string, request: StartWorkflow): Promise<StartableVersion> {
    const found = await this.startable.find(workspaceId, refOf(request));
    if (found === null) throw workflowNotFound();
    if (found.version === null) throw workflowNotPublished();
    if (found.hash === null) throw workflowVersionNotFound();
    return found;
  }

  private async check(workspaceId: string, { known }: StartWorkflow, found: StartableVersion): Promise<ReadyVersion> {
    const [version] = await this.versions.load(workspaceId, [{ id: found.id, version: found.version }]);
    if (version === undefined) throw workflowVersionNotFound();
    assertKnown(known, found, version.json);
    return this.ready.check(workspaceId, version);
  }

  /** Attached contents become files of the workspace, so that the row of the job only refers to them. */
  private async accepted(principal: Principal, attachments: readonly Attachment[]): Promise<readonly Attachment[]> {
    const parts = attachments.flatMap((attachment) => toPart(attachment) ?? []);
    if (parts.length === 0) return attachments;
    const [message] = await this.attached.accept(principal, [{ role: 'user', content: parts }]);
    const stored = partsOf(message === undefined ? [] : [message]).values();
    return attachments.map((each) => (toPart(each) === null ? each : toStored(each, stored.next().value)));
  }
}

function refOf({ workflowRef: ref, version }: StartWorkflow): StartRef {
  return { ref, version };
}

function toInput(
  { prompt, history, attachments, resumeFrom, inputs, ...request }: StartWorkflow,
  { graph, subflows, toolPins, agents }: ReadyVersion,
): WorkflowInput {
  const { providerDown, toolApproval = null, callerPolicies = [] } = request;
  return {
    prompt,
    history,
    attachments,
    subflows,
    toolPins,
    ...defined({ agents, inputs, providerDown }),
    ...(toolApproval === null ? {} : { toolApproval }),
    ...(callerPolicies.length === 0 ? {} : { callerPolicies }),
    ...(resumeFrom === null ? {} : { resumeFrom: fromKnownRun(graph, resumeFrom) }),
  };
}

/** Throws if the client's copy differs from the version that would run. */
function assertKnown(
  { updatedAt, version, definition }: KnownDefinition,
  present: StartableVersion,
  json: unknown,
): void {
  // If the draft equals the published version, that version is as new as the draft.
  const newest = present.draftHash === present.hash ? present.updatedAt : present.createdAt;
  if (updatedAt !== undefined && updatedAt > newest) throw workflowStale();
  if (version !== undefined && !isVersion(version, { number: present.version, json })) throw workflowVersionMismatch();
  if (definition !== undefined && contentHash(toJson(definition).json) !== present.hash)
    throw workflowPayloadMismatch();
}

function isVersion(
  known: number | string,
  { number, json }: { readonly number: number; readonly json: unknown },
): boolean {
  return known === number || known === String(number) || known === metaVersionOf(json);
}

function metaVersionOf(json: unknown): unknown {
  const { meta } = json as { readonly meta: { readonly version?: unknown } }; // a document: it was read as one
  return meta.version;
}

function toThread({ threadRef, threadIsNew = false, createThread, prompt }: StartWorkflow) {
  if (threadRef === null) return null;
  const isNew = threadIsNew || threadRef === '';
  return {
    ...{ ref: threadRef === '' ? newId() : threadRef, isNew },
    ...(createThread ? { createTitle: titleOf(prompt) } : {}),
  };
}

/** The first line of the user's text. */
function titleOf(prompt: string): string {
  const line = prompt.trim().split('\n', 1)[0] ?? '';
  const characters = Array.from(toStorableText(line));
  return characters.length > longestTitle ? `${characters.slice(0, longestTitle - 1).join('')}…` : characters.join('');
}
