import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, type Principal, systemPrincipal } from '#auth';
import type { StartedJob } from '#jobs';
import { newId, toStorableText } from '#platform';

import { contentHash } from '../definition/content-hash.js';
import { toGraph, type WorkflowGraph } from '../definition/graph.js';
import { type CheckedDefinition, DefinitionChecks } from '../definitions/definition-checks.js';
import { readDefinition, toJson } from '../definitions/read-definition.js';
import type { Workflow, WorkflowVersion } from '../definitions/workflow.js';
import { workflowInvalid, workflowNotPublished } from '../definitions/workflows.errors.js';
import { WorkflowsService } from '../definitions/workflows.service.js';
import { assertFits } from './assert-fits.js';
import { workflowPayloadMismatch, workflowStale, workflowVersionMismatch } from './start.errors.js';
import type { KnownDefinition, StartWorkflow } from './start-workflow.js';
import { fromKnownRun } from './to-resume-from.js';
import { asksModels, toolsOf } from './tools-of.js';
import type { WorkflowInput } from './workflow-input.js';
import { WorkflowLaunch } from './workflow-launch.js';

const longestTitle = 80;

/** What a start without a person says. */
export type UnattendedStart = Pick<StartWorkflow, 'workflowRef' | 'prompt' | 'idempotency'>;

type Version = WorkflowVersion & { readonly text: string };

/** Accepts workflow jobs for the doors: finds what runs, checks that it can, pins it, and hands over to the job starter. */
@Injectable()
export class StartWorkflowService {
  constructor(
    private readonly workflows: WorkflowsService,
    private readonly checks: DefinitionChecks,
    private readonly launch: WorkflowLaunch,
  ) {}

  /**
   * Accepts a job that runs a published version; it is committed when this returns. A repeated key gives its job, whatever has
   * become of the workflow. Throws `forbidden`, `not_found` (workflow, version, thread), `workflow_not_published`,
   * `workflow_stale`, `workflow_version_mismatch`, `workflow_payload_mismatch`, `too_large`, `workflow_invalid` with the issues,
   * `bad_request`, `missing_model_key`, and what `JobStarter.start` throws.
   */
  async start(principal: MemberPrincipal, request: StartWorkflow): Promise<StartedJob> {
    const { workspaceId, userId } = principal;
    assertCan(abilityOf(principal), { action: 'create', subject: 'Job', row: { workspaceId, createdBy: userId } });
    return this.accept(principal, request);
  }

  /**
   * Accepts a job that nobody's request began: it acts for Nightshift itself and belongs to no thread. The caller answers for
   * its being wanted. Throws as `start`.
   */
  startUnattended(workspaceId: string, wish: UnattendedStart): Promise<StartedJob> {
    return this.accept(systemPrincipal(workspaceId), {
      ...{ version: null, threadRef: null, createThread: false, messageClientId: null, history: [], attachments: [] },
      ...{ whenBusy: null, providerKey: null, known: {}, resumeFrom: null },
      ...wish,
    });
  }

  private async accept(principal: Principal, request: StartWorkflow): Promise<StartedJob> {
    const { workspaceId } = principal;
    assertFits(request);
    const { idempotency } = request;
    const replayed = idempotency === null ? null : await this.launch.replay(principal, idempotency);
    if (replayed !== null) return replayed;
    const { workflow, version } = await this.find(principal, request);
    const { json } = readDefinition(version.text);
    assertKnown(request.known, { workflow, version, json });
    const checked = await this.checks.look(workspaceId, json, { strict: false });
    const { document, result } = checked;
    if (document === null || !result.isValid) throw workflowInvalid(result.errors);
    const graph = toGraph(document);
    const input = toInput(request, { graph, checked });
    return this.launch.start(principal, {
      workflow: { id: workflow.id, version: version.number },
      input,
      thread: toThread(request),
      messageClientId: request.messageClientId,
      ...(request.whenBusy === null ? {} : { whenBusy: request.whenBusy }),
      idempotency,
      retryOf: null,
      asksModels: [graph, ...graphsOf(checked)].some(asksModels),
      providerKey: request.providerKey,
    });
  }

  private async find(
    principal: Principal,
    { workflowRef, version }: StartWorkflow,
  ): Promise<{ readonly workflow: Workflow; readonly version: Version }> {
    const workflow = await this.workflows.get(principal, workflowRef);
    const number = version ?? workflow.publishedVersion;
    if (number === null) throw workflowNotPublished();
    return { workflow, version: await this.workflows.version(principal, workflow.id, number) };
  }
}

function toInput(
  { prompt, history, attachments, resumeFrom }: StartWorkflow,
  { graph, checked }: { readonly graph: WorkflowGraph; readonly checked: CheckedDefinition },
): WorkflowInput {
  const names = new Set([graph, ...graphsOf(checked)].flatMap((each) => [...toolsOf(each)]));
  const tools = checked.tools.list().filter(({ name }) => names.has('*') || names.has(name));
  return {
    prompt,
    history,
    attachments,
    subflows: Object.fromEntries([...checked.subflows].map(([ref, { id, version }]) => [ref, { id, version }])),
    toolPins: Object.fromEntries(tools.map(({ name, version }) => [name, version])),
    ...(resumeFrom === null ? {} : { resumeFrom: fromKnownRun(graph, resumeFrom) }),
  };
}

/** Of the subflows. One with faults of its own was refused together with the workflow. */
function graphsOf({ subflows }: CheckedDefinition): readonly WorkflowGraph[] {
  return [...subflows.values()].map(({ document }) => toGraph(document));
}

/** Throws when the client's copy is not what would run. */
function assertKnown(
  { updatedAt, version, definition }: KnownDefinition,
  found: { readonly workflow: Workflow; readonly version: Version; readonly json: unknown },
): void {
  const { workflow, version: present, json } = found;
  // Where the draft says what was published, what was published is as new as the draft.
  const newest = workflow.draftHash === present.hash ? workflow.updatedAt : present.createdAt;
  if (updatedAt !== undefined && updatedAt > newest) throw workflowStale();
  if (version !== undefined && !isVersion(version, { number: present.number, json })) throw workflowVersionMismatch();
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

function toThread({ threadRef, createThread, prompt }: StartWorkflow) {
  if (threadRef === null) return null;
  return { ref: threadRef === '' ? newId() : threadRef, ...(createThread ? { createTitle: titleOf(prompt) } : {}) };
}

/** The first line of what the user said. */
function titleOf(prompt: string): string {
  const line = prompt.trim().split('\n', 1)[0] ?? '';
  const characters = Array.from(toStorableText(line));
  return characters.length > longestTitle ? `${characters.slice(0, longestTitle - 1).join('')}…` : characters.join('');
}
