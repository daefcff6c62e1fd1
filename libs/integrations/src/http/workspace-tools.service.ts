import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import { isId, newId, type Page, type PageRequest, PrismaService, type PrismaTransaction } from '#platform';
import { canonicalJson, lockWorkspace, recordChange, ToolCatalog, ToolRegistry } from '#tools';

import { toolNameTaken, toolNotFound, tooManyTools } from './http.errors.js';
import { type HttpTool, parseHttpTool } from './http-tool.js';
import type { VersionedTool } from './to-tool.js';
import type { WorkspaceTool, WorkspaceToolVersion } from './workspace-tool.js';
import { WorkspaceToolsRepository } from './workspace-tools.repository.js';

const MAX_TOOLS = 200;
const SHOWN_VERSIONS = 100;

/**
 * The HTTP tools that a workspace defines, for principals that may manage `WorkspaceTool`; other principals get `not_found`. Each change of a
 * definition creates a version, and old versions remain. Changes of one workspace run one after the other, are audited, and apply in every
 * process within a second.
 */
@Injectable()
export class WorkspaceToolsService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tools: WorkspaceToolsRepository,
    private readonly registry: ToolRegistry,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Oldest first. */
  async list(principal: MemberPrincipal, { first, after }: PageRequest): Promise<Page<WorkspaceTool>> {
    assertMayManage(principal);
    const page = { take: first + 1, after };
    const rows = await this.prisma.withWorkspace(principal, (tx) => this.tools.list(tx, scopeOf(principal), page));
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /** Throws `not_found`, also for a removed tool. */
  async get(principal: MemberPrincipal, id: string): Promise<WorkspaceTool> {
    assertMayManage(principal);
    return this.prisma.withWorkspace(principal, (tx) => this.find(tx, principal, id));
  }

  /** Returns the last hundred versions of a tool, newest first; empty for an unknown tool. */
  async versions(principal: MemberPrincipal, id: string): Promise<readonly WorkspaceToolVersion[]> {
    assertMayManage(principal);
    if (!isId(id)) return [];
    const wanted = { id, take: SHOWN_VERSIONS };
    return this.prisma.withWorkspace(principal, (tx) => this.tools.versions(tx, scopeOf(principal), wanted));
  }

  /** Creates a tool. Throws `bad_request` (with the path of the fault), `conflict` (a name in use, 200 already), `not_found`. */
  async register(principal: MemberPrincipal, input: unknown): Promise<WorkspaceTool> {
    assertMayManage(principal);
    const definition = parseHttpTool(input);
    return this.change(principal, 'tool-registered', async (tx) => {
      if ((await this.tools.count(tx, scopeOf(principal))) >= MAX_TOOLS) throw tooManyTools(MAX_TOOLS);
      return this.write(tx, principal, { id: newId(), version: 1, definition });
    });
  }

  /**
   * Creates a tool, or stores the definition as the next version of the tool with this name. A definition that equals the current one changes
   * nothing. Throws the errors of `register`.
   */
  async upsert(principal: MemberPrincipal, input: unknown): Promise<WorkspaceTool> {
    assertMayManage(principal);
    const definition = parseHttpTool(input);
    const existing = await this.prisma.withWorkspace(principal, async (tx) => {
      const id = await this.tools.idOf(tx, scopeOf(principal), definition.name);
      return id === null ? null : this.find(tx, principal, id);
    });
    if (existing === null) return this.register(principal, input);
    if (canonicalJson(existing.definition) === canonicalJson(definition)) return existing;
    return this.update(principal, existing.id, input);
  }

  /** The definition with its defaults. Saves nothing. Throws `bad_request` (with the path of the fault), `not_found`. */
  validate(principal: MemberPrincipal, input: unknown): HttpTool {
    assertMayManage(principal);
    return parseHttpTool(input);
  }

  /** Replaces the definition of a tool, as its next version. Throws the errors of `register`. */
  async update(principal: MemberPrincipal, id: string, input: unknown): Promise<WorkspaceTool> {
    assertMayManage(principal);
    const definition = parseHttpTool(input);
    return this.change(principal, 'tool-changed', async (tx) => {
      const { version } = await this.find(tx, principal, id);
      return this.write(tx, principal, { id, version: version + 1, definition });
    });
  }

  /** Throws `not_found`. */
  async setEnabled(principal: MemberPrincipal, id: string, enabled: boolean): Promise<WorkspaceTool> {
    assertMayManage(principal);
    return this.change(principal, enabled ? 'tool-enabled' : 'tool-disabled', async (tx) => {
      const tool = await this.find(tx, principal, id);
      await this.tools.setEnabled(tx, scopeOf(principal), { id, enabled });
      return { ...tool, enabled };
    });
  }

  /** Removes a tool: it can no longer be called and its name is free. The history and the audit log remain. Throws `not_found`. */
  async remove(principal: MemberPrincipal, id: string): Promise<WorkspaceTool> {
    assertMayManage(principal);
    return this.change(principal, 'tool-removed', async (tx) => {
      const tool = await this.find(tx, principal, id);
      await this.tools.remove(tx, scopeOf(principal), id);
      return { ...tool, enabled: false };
    });
  }

  private async write(tx: PrismaTransaction, principal: MemberPrincipal, tool: VersionedTool): Promise<WorkspaceTool> {
    const scope = scopeOf(principal);
    const { name } = tool.definition;
    const holder = await this.tools.idOf(tx, scope, name);
    if (this.registry.find(name) !== undefined || (holder !== null && holder !== tool.id)) throw toolNameTaken(name);
    await this.tools.write(tx, scope, tool);
    return this.find(tx, principal, tool.id);
  }

  private async find(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<WorkspaceTool> {
    const tool = isId(id) ? await this.tools.find(tx, scopeOf(principal), id) : null;
    if (tool === null) throw toolNotFound();
    return tool;
  }

  private async change(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<WorkspaceTool>,
  ): Promise<WorkspaceTool> {
    const tool = await this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const changed = await run(tx);
      const subject = { subjectType: 'WorkspaceTool', subjectId: changed.id } as const;
      await recordChange(tx, principal, { action, ...subject, details: detailsOf(changed) });
      return changed;
    });
    this.catalog.forget(principal.workspaceId);
    return tool;
  }
}

function detailsOf({ name, version, definition }: WorkspaceTool) {
  const { method, url, effect }: HttpTool = definition;
  return { name, version, method, url, effect };
}

function assertMayManage(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'WorkspaceTool', row: { workspaceId } });
}
