import { Injectable } from '@nestjs/common';

import { abilityOf, type Action, assertCan, type MemberPrincipal, type Principal, scopeOf } from '#auth';
import { newId, type Page, type PageRequest, PrismaService, type PrismaTransaction } from '#platform';
import { lockWorkspace, recordChange, ToolCatalog } from '#tools';

import type { Validation } from '../definition/validation/validate.js';
import { DefinitionChecks } from './definition-checks.js';
import { type ReadDefinition, readDefinition, toJson } from './read-definition.js';
import { slugsFor } from './slugs-for.js';
import type { Workflow, WorkflowVersion } from './workflow.js';
import {
  draftChanged,
  tooManyWorkflows,
  workflowClientIdTaken,
  workflowInvalid,
  workflowNameTaken,
  workflowNotFound,
  workflowVersionNotFound,
} from './workflows.errors.js';
import { WorkflowsRepository } from './workflows.repository.js';

const MAX_WORKFLOWS = 1_000;

/** A definition to be saved. */
export interface SavedDraft {
  /** Null: a new workflow. */
  readonly id: string | null;
  /** An object, or its JSON text, which is kept as it is. */
  readonly definition: unknown;
  /** The `draftVersion` that the change is based on; null: replaces any draft. */
  readonly expectedVersion: number | null;
}

/**
 * The workflows of a workspace: every member reads them, members save drafts, and members with the right to manage them publish and delete. Jobs run
 * published versions, which never change. Changes of one workspace run one after the other.
 */
@Injectable()
export class WorkflowsService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly workflows: WorkflowsRepository,
    private readonly checks: DefinitionChecks,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Newest first. */
  async list(principal: MemberPrincipal, { first, after }: PageRequest): Promise<Page<Workflow>> {
    const page = { take: first + 1, after };
    const rows = await this.prisma.withWorkspace(principal, (tx) => this.workflows.list(tx, scopeOf(principal), page));
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** By our id or a client's. Throws `not_found`, also for a deleted one. */
  async get(principal: Principal, ref: string): Promise<Workflow> {
    return this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, ref));
  }

  /** The draft's text as it was given. Throws `not_found`. */
  async draft(principal: MemberPrincipal, id: string): Promise<string> {
    const scope = scopeOf(principal);
    const text = await this.prisma.withWorkspace(principal, (tx) => this.workflows.draft(tx, scope, id));
    if (text === null) throw workflowNotFound();
    return text;
  }

  /** Newest first, below number `below`. Throws `not_found`. */
  async versions(
    principal: MemberPrincipal,
    ref: string,
    { first, below }: { readonly first: number; readonly below: number | undefined },
  ): Promise<Page<WorkflowVersion>> {
    const rows = await this.prisma.withWorkspace(principal, async (tx) => {
      const { id } = await this.find(tx, principal, ref);
      return this.workflows.versions(tx, scopeOf(principal), { id, take: first + 1, below });
    });
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** One version with its text, as it was given. Throws `not_found`. */
  async version(
    principal: Principal,
    ref: string,
    number: number,
  ): Promise<WorkflowVersion & { readonly text: string }> {
    return this.prisma.withWorkspace(principal, async (tx) => {
      const { id } = await this.find(tx, principal, ref);
      return this.findVersion(tx, principal, { id, number });
    });
  }

  /** Validates a definition in this workspace, as a save does. Throws `bad_request`, `too_large`, `not_found`. */
  async validate(principal: MemberPrincipal, definition: unknown): Promise<Validation> {
    assertMay(principal, 'read');
    const { result } = await this.checks.look(principal.workspaceId, toJson(definition).json, { strict: true });
    return result;
  }

  /**
   * Creates a workflow, or replaces the draft of one. Throws `not_found`, `forbidden`, `bad_request`, `too_large`,
   * `workflow_invalid` with the issues, `workflow_changed` (another save came first), `conflict` (name or id in use).
   */
  async save(principal: MemberPrincipal, { id: ref, definition, expectedVersion }: SavedDraft): Promise<Workflow> {
    assertMay(principal, 'read'); // the name is compared with those of other workflows, and the result is the workflow
    assertMay(principal, ref === null ? 'create' : 'change');
    const facts = readDefinition(definition);
    await this.assertValid(principal, facts, true);
    return this.change(principal, ref === null ? 'workflow-created' : 'workflow-saved', async (tx) => {
      if (ref === null) return this.create(tx, principal, facts);
      const workflow = await this.find(tx, principal, ref);
      return this.replace(tx, principal, { workflow, facts, expectedVersion });
    });
  }

  /**
   * Imports a document of another system, including its problems: as a new workflow, or as the draft of the workflow that was imported with the same
   * `meta.id`. Throws as `save`, except `workflow_invalid`.
   */
  async import(
    principal: MemberPrincipal,
    given: { readonly definition: unknown; readonly expectedVersion: number | null },
  ): Promise<Workflow> {
    assertMay(principal, 'read'); // as for `save`
    assertMay(principal, 'create');
    const facts = readDefinition(given.definition);
    return this.change(principal, 'workflow-imported', async (tx) => {
      const { clientId } = facts;
      const known = clientId === null ? null : await this.workflows.find(tx, scopeOf(principal), clientId);
      if (known === null) return this.create(tx, principal, facts);
      return this.replace(tx, principal, { workflow: known, facts, expectedVersion: given.expectedVersion });
    });
  }

  /**
   * Publishes the draft as the version that new jobs run; a draft equal to the newest version publishes that version again.
   * Throws `not_found`, `forbidden`, `workflow_invalid`, `workflow_changed`.
   */
  async publish(
    principal: MemberPrincipal,
    ref: string,
    expectedVersion: number | null = null,
  ): Promise<{ readonly workflow: Workflow; readonly version: WorkflowVersion }> {
    assertMay(principal, 'manage');
    const { id } = await this.get(principal, ref);
    const facts = readDefinition(await this.draft(principal, id));
    await this.assertValid(principal, facts, false);
    const workflow = await this.change(principal, 'workflow-published', async (tx) => {
      const found = await this.find(tx, principal, id);
      // The text that was validated is the text that is published.
      if (found.draftHash !== facts.hash) throw draftChanged(found.draftVersion);
      assertExpected(found, expectedVersion);
      return this.addVersion(tx, principal, { workflow: found, facts });
    });
    return { workflow, version: await this.version(principal, id, workflow.publishedVersion ?? 0) };
  }

  /** Makes a version's text the draft; the published version does not change. Throws `not_found`, `forbidden`, `workflow_changed`, `conflict`. */
  async restore(
    principal: MemberPrincipal,
    ref: string,
    wanted: { readonly version: number; readonly expectedVersion: number | null },
  ): Promise<Workflow> {
    assertMay(principal, 'change');
    return this.change(principal, 'workflow-restored', async (tx) => {
      const workflow = await this.find(tx, principal, ref);
      const { text } = await this.findVersion(tx, principal, { id: workflow.id, number: wanted.version });
      const facts = readDefinition(text);
      return this.replace(tx, principal, { workflow, facts, expectedVersion: wanted.expectedVersion });
    });
  }

  /**
   * Sets whether models may call the published version, as the tool `workflow.<slug>`. Running calls continue. Throws `not_found`,
   * `forbidden`.
   */
  async offerAsTool(principal: MemberPrincipal, ref: string, offered: boolean): Promise<Workflow> {
    assertMay(principal, 'manage');
    return this.change(principal, offered ? 'workflow-offered' : 'workflow-withdrawn', async (tx) => {
      const { id } = await this.find(tx, principal, ref);
      await this.workflows.offer(tx, scopeOf(principal), { id, offered });
      return this.find(tx, principal, id);
    });
  }

  /** New jobs can no longer start it and its name is free; jobs that run it continue. Throws `not_found`, `forbidden`. */
  async remove(principal: MemberPrincipal, ref: string): Promise<Workflow> {
    assertMay(principal, 'manage');
    return this.change(principal, 'workflow-deleted', async (tx) => {
      const workflow = await this.find(tx, principal, ref);
      await this.workflows.remove(tx, scopeOf(principal), workflow.id);
      return workflow;
    });
  }

  private async create(tx: PrismaTransaction, principal: MemberPrincipal, facts: ReadDefinition): Promise<Workflow> {
    const id = newId();
    if ((await this.workflows.count(tx, scopeOf(principal))) >= MAX_WORKFLOWS) throw tooManyWorkflows(MAX_WORKFLOWS);
    await this.assertFree(tx, principal, { id, ...facts });
    const slug = await this.freeSlug(tx, principal, { id, name: facts.name });
    await this.workflows.create(tx, scopeOf(principal), { id, slug, facts });
    return this.find(tx, principal, id);
  }

  /** The workflow keeps the slug after renames and no other workflow reuses it: models and tools refer to it by the slug. */
  private async freeSlug(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    workflow: { readonly id: string; readonly name: string },
  ): Promise<string> {
    const wanted = slugsFor(workflow);
    const used = await this.workflows.slugsInUse(tx, scopeOf(principal), wanted);
    return wanted.find((slug) => !used.has(slug)) ?? wanted[0];
  }

  private async replace(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    save: { readonly workflow: Workflow; readonly facts: ReadDefinition; readonly expectedVersion: number | null },
  ): Promise<Workflow> {
    const { workflow, expectedVersion } = save;
    const { id } = workflow;
    assertExpected(workflow, expectedVersion);
    const facts = { ...save.facts, clientId: save.facts.clientId ?? workflow.clientId };
    await this.assertFree(tx, principal, { id, ...facts });
    const draftVersion = workflow.draftVersion + 1;
    await this.workflows.saveDraft(tx, scopeOf(principal), { id, draftVersion, facts });
    return this.find(tx, principal, id);
  }

  private async addVersion(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { workflow, facts: { text, hash } }: { readonly workflow: Workflow; readonly facts: ReadDefinition },
  ): Promise<Workflow> {
    const { id, latestVersion, publishedVersion } = workflow;
    const scope = scopeOf(principal);
    const newest = await this.workflows.version(tx, scope, { id, number: latestVersion });
    if (newest?.hash === hash && publishedVersion === latestVersion) return workflow;
    await this.workflows.publish(tx, scope, { id, number: latestVersion + 1, text, hash });
    return this.find(tx, principal, id);
  }

  private async assertFree(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    like: { readonly id: string; readonly name: string; readonly clientId: string | null },
  ): Promise<void> {
    const [other] = await this.workflows.findOthers(tx, scopeOf(principal), like);
    if (other === undefined) return;
    throw other.name === like.name ? workflowNameTaken(like.name) : workflowClientIdTaken();
  }

  private async assertValid(principal: MemberPrincipal, { json }: ReadDefinition, strict: boolean): Promise<void> {
    const { result } = await this.checks.look(principal.workspaceId, json, { strict });
    if (!result.isValid) throw workflowInvalid(result.errors);
  }

  private async find(tx: PrismaTransaction, principal: Principal, ref: string): Promise<Workflow> {
    const workflow = await this.workflows.find(tx, scopeOf(principal), ref);
    if (workflow === null) throw workflowNotFound();
    return workflow;
  }

  private async findVersion(
    tx: PrismaTransaction,
    principal: Principal,
    wanted: { readonly id: string; readonly number: number },
  ): Promise<WorkflowVersion & { readonly text: string }> {
    const version = await this.workflows.version(tx, scopeOf(principal), wanted);
    if (version === null) throw workflowVersionNotFound();
    return version;
  }

  private async change(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<Workflow>,
  ): Promise<Workflow> {
    const workflow = await this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const changed = await run(tx);
      const { id: subjectId, name, draftVersion, draftHash, publishedVersion } = changed;
      const details = { name, draftVersion, draftHash, publishedVersion };
      await recordChange(tx, principal, { action, subjectType: 'Workflow', subjectId, details });
      return changed;
    });
    // The name may be that of a tool of the workspace.
    this.catalog.forget(principal.workspaceId);
    return workflow;
  }
}

function assertExpected({ draftVersion }: Workflow, expectedVersion: number | null): void {
  if (expectedVersion !== null && expectedVersion !== draftVersion) throw draftChanged(draftVersion);
}

function assertMay(principal: MemberPrincipal, action: Action): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action, subject: 'Workflow', row: { workspaceId } });
}
