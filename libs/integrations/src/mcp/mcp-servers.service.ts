import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import {
  isId,
  newId,
  type Page,
  type PageRequest,
  type Prisma,
  PrismaService,
  type PrismaTransaction,
  readInput,
  toStorableText,
} from '#platform';
import { lockWorkspace, recordChange, ToolCatalog, ToolRegistry } from '#tools';

import { chooseTools, type McpAcceptance } from './choose-tools.js';
import { mcpInputInvalid, mcpNameTaken, mcpServerNotFound, mcpToolChanged, tooManyMcpServers } from './mcp.errors.js';
import { McpGateway } from './mcp-gateway.js';
import type { McpServer, McpSettings } from './mcp-server.js';
import { McpServersRepository, type NewMcpServerRow } from './mcp-servers.repository.js';
import { isElsewhere, mcpServerName, type McpSettingsInput, parseMcpSettings } from './mcp-settings.js';
import { type McpServerRecord, toMcpServer } from './to-mcp-server.js';

/** A server to register. */
export interface NewMcpServer {
  readonly name: string;
  readonly settings: McpSettingsInput;
  /** Default true. */
  readonly enabled?: boolean | undefined;
  /** The tools to accept without review; default none. */
  readonly accept?: McpAcceptance | undefined;
}

/** The changes of a server. Absent fields do not change. */
export interface McpServerChanges {
  readonly name?: string | undefined;
  /** Receives the current settings and returns the new ones. The transport cannot change. */
  readonly settings?: ((before: McpSettings) => McpSettingsInput) | undefined;
  readonly enabled?: boolean | undefined;
}

/** A change, for the audit log. */
interface Change {
  readonly action: string;
  readonly details: Prisma.InputJsonObject;
}

const MAX_SERVERS = 20;

/**
 * The MCP servers of a workspace. Every member can read names and tools. Principals that may manage `McpServer` register servers and accept
 * their tools; these changes run one after the other, and each is audited in its own transaction. Requests to servers run outside of
 * transactions.
 */
@Injectable()
export class McpServersService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly servers: McpServersRepository,
    private readonly gateway: McpGateway,
    private readonly catalog: ToolCatalog,
    private readonly registry: ToolRegistry,
  ) {}

  /** Oldest first; empty for principals without the right to read servers. Throws `bad_request` for an invalid cursor. */
  async list(principal: MemberPrincipal, { first, after }: PageRequest): Promise<Page<McpServer>> {
    if (after !== undefined && !isId(after)) throw mcpInputInvalid('after', 'This cursor does not belong to this list');
    const take = Math.min(100, Math.max(1, first));
    const found = await this.prisma.withWorkspace(principal, (tx) =>
      this.servers.list(tx, scopeOf(principal), { take: take + 1, after }),
    );
    const items = found.slice(0, take).map((record) => toMcpServer(record, this.isTaken));
    return { items, hasMore: found.length > take };
  }

  /** Returns null if the server does not exist or may not be read. */
  find(principal: MemberPrincipal, id: string): Promise<McpServer | null> {
    return this.prisma.withWorkspace(principal, (tx) => this.findIn(tx, principal, id));
  }

  /**
   * Registers a server and, if it is enabled, asks it for its tools. A server that cannot be reached is registered too, with the reason in
   * `problem`. Throws `bad_request`, `mcp_stdio_disabled`, `conflict` (a name in use, 20 already), and the errors of `accept`; after these,
   * the server is registered and none of its tools is accepted.
   */
  async register(principal: MemberPrincipal, input: NewMcpServer): Promise<McpServer> {
    assertMayManage(principal);
    const settings = this.readSettings(input.settings);
    const row = { id: newId(), name: readName(input.name), settings, enabled: input.enabled ?? true };
    await this.write(principal, row.id, async (tx) => {
      const others = await this.servers.names(tx, scopeOf(principal));
      if (others.length >= MAX_SERVERS) throw tooManyMcpServers(MAX_SERVERS);
      assertNameFree(others, row);
      await this.servers.insert(tx, scopeOf(principal), row);
      return { action: 'mcp-server-registered', details: detailsOf(row) };
    });
    const listed = await (row.enabled ? this.refresh(principal, row.id) : this.get(principal, row.id));
    return this.acceptGiven(principal, listed, input.accept);
  }

  /**
   * Registers a server, or updates the server with its name; the transport cannot change. Throws the errors of `register` and `update`; after
   * these, no tool of `accept` is accepted.
   */
  async upsert(principal: MemberPrincipal, input: NewMcpServer, changes: McpServerChanges): Promise<McpServer> {
    assertMayManage(principal);
    const all = await this.prisma.withWorkspace(principal, (tx) => this.servers.names(tx, scopeOf(principal)));
    const existing = all.find(({ name }) => name === input.name);
    if (existing === undefined) return this.register(principal, input);
    return this.acceptGiven(principal, await this.update(principal, existing.id, changes), input.accept);
  }

  /**
   * Updates a server and asks it for its tools again. A new URL or command means another server: all acceptances are revoked. Throws the
   * errors of `register`, and `not_found`.
   */
  async update(principal: MemberPrincipal, id: string, changes: McpServerChanges): Promise<McpServer> {
    assertMayManage(principal);
    await this.write(principal, id, async (tx) => {
      const scope = scopeOf(principal);
      const before = isId(id) ? await this.servers.find(tx, scope, id) : null;
      if (before === null) throw mcpServerNotFound();
      const row = this.changedRow(before, changes);
      assertNameFree(await this.servers.names(tx, scope), row);
      await this.servers.lock(tx, scope, id);
      await this.servers.update(tx, scope, row);
      const acceptanceLost = isElsewhere(before.settings, row.settings);
      if (acceptanceLost) await this.servers.dropTools(tx, scope, id);
      return { action: 'mcp-server-changed', details: { ...detailsOf(row), acceptanceLost } };
    });
    const changed = await this.get(principal, id);
    return changed.enabled ? this.refresh(principal, id) : changed;
  }

  /** Removes a server and its tools; running calls continue. Throws `not_found`. */
  async remove(principal: MemberPrincipal, id: string): Promise<McpServer> {
    assertMayManage(principal);
    const server = await this.get(principal, id);
    await this.write(principal, id, async (tx) => {
      await this.servers.delete(tx, scopeOf(principal), id);
      return { action: 'mcp-server-removed', details: { name: server.name } };
    });
    this.gateway.forget(principal.workspaceId, id);
    return server;
  }

  /** Asks the server for its tools now. The result has a failure in `problem`. Throws `not_found`. */
  async refresh(principal: MemberPrincipal, id: string): Promise<McpServer> {
    assertMayManage(principal);
    await this.get(principal, id);
    await this.gateway.refresh(principal.workspaceId, id, AbortSignal.timeout(REFRESH_MS));
    this.catalog.forget(principal.workspaceId);
    return this.get(principal, id);
  }

  /** Accepts tools with their listed definitions, so that they are offered. Throws `not_found`, `bad_request`, `conflict`. */
  async accept(principal: MemberPrincipal, id: string, acceptance: McpAcceptance): Promise<McpServer> {
    assertMayManage(principal);
    const tools = chooseTools(await this.get(principal, id), acceptance);
    await this.write(principal, id, async (tx) => {
      await this.servers.lock(tx, scopeOf(principal), id);
      const accepted = await this.servers.accept(tx, scopeOf(principal), { serverId: id, tools });
      if (accepted !== tools.length) throw mcpToolChanged('a tool');
      return { action: 'mcp-tools-accepted', details: { tools: tools.map((tool) => ({ ...tool })) } };
    });
    return this.get(principal, id);
  }

  /** Revokes the acceptance of tools by name; unknown names are ignored. Throws `not_found`. */
  async revoke(principal: MemberPrincipal, id: string, names: readonly string[]): Promise<McpServer> {
    assertMayManage(principal);
    await this.get(principal, id);
    const known = names.slice(0, MAX_NAMES).map((name) => toStorableText(name.slice(0, 128)));
    await this.write(principal, id, async (tx) => {
      await this.servers.lock(tx, scopeOf(principal), id);
      await this.servers.revoke(tx, scopeOf(principal), { serverId: id, names: known });
      return { action: 'mcp-tools-revoked', details: { tools: known } };
    });
    return this.get(principal, id);
  }

  private async acceptGiven(
    principal: MemberPrincipal,
    server: McpServer,
    accept: McpAcceptance | undefined,
  ): Promise<McpServer> {
    if (accept === undefined || (accept.all !== true && accept.names === undefined)) return server;
    return this.accept(principal, server.id, accept);
  }

  private async get(principal: MemberPrincipal, id: string): Promise<McpServer> {
    const server = await this.find(principal, id);
    if (server === null) throw mcpServerNotFound();
    return server;
  }

  private async findIn(tx: PrismaTransaction, principal: MemberPrincipal, id: string): Promise<McpServer | null> {
    const record = isId(id) ? await this.servers.find(tx, scopeOf(principal), id) : null;
    return record === null ? null : toMcpServer(record, this.isTaken);
  }

  private async write(
    principal: MemberPrincipal,
    id: string,
    run: (tx: PrismaTransaction) => Promise<Change>,
  ): Promise<void> {
    await this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const change = await run(tx);
      await recordChange(tx, principal, { ...change, subjectType: 'McpServer', subjectId: id });
    });
    this.catalog.forget(principal.workspaceId);
  }

  private changedRow(before: McpServerRecord, changes: McpServerChanges): NewMcpServerRow {
    const { name = before.name, enabled = before.enabled, settings: change } = changes;
    const settings = change === undefined ? before.settings : this.readSettings(change(before.settings));
    return { id: before.id, name: readName(name), settings, enabled };
  }

  private readSettings(input: McpSettingsInput): McpSettings {
    const settings = parseMcpSettings(input);
    this.gateway.assertAllowed(settings);
    return settings;
  }

  private readonly isTaken = (name: string): boolean => this.registry.find(name) !== undefined;
}

const REFRESH_MS = 20_000;
const MAX_NAMES = 200;

function assertMayManage(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'McpServer', row: { workspaceId } });
}

function readName(name: string): string {
  const read = readInput(mcpServerName, name);
  if ('problem' in read) throw mcpInputInvalid('name', read.problem.text);
  return read.data;
}

function assertNameFree(others: readonly { readonly id: string; readonly name: string }[], row: NewMcpServerRow): void {
  if (others.some(({ id, name }) => id !== row.id && name === row.name)) throw mcpNameTaken(row.name);
}

/** The settings for the audit log, without the values of headers and variables. */
function detailsOf({ name, settings, enabled }: NewMcpServerRow): Prisma.InputJsonObject {
  const { transport, trusted } = settings;
  const place =
    settings.transport === 'http' ? { url: settings.url } : { command: settings.command, args: [...settings.args] };
  return { name, enabled, transport, trusted, ...place };
}
