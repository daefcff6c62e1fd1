import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal, scopeOf } from '#auth';
import { OutboundHostsRepository } from '#integrations';
import {
  GuardedFetch,
  newId,
  OutboundError,
  type Page,
  type PageRequest,
  PrismaService,
  type PrismaTransaction,
} from '#platform';
import { lockWorkspace, recordChange } from '#tools';

import { keptOwner } from '../kept-owner.js';
import { isBlocked } from '../outbound/webhook-client.js';
import {
  baseUrlRefused,
  connectionNotFound,
  nameOfTooMany,
  parseConnection,
  type SavedSyntrixConnection,
  type SyntrixConnection,
  tooManyConnections,
} from './syntrix-connection.js';
import { maxOfName, SyntrixConnectionsRepository } from './syntrix-connections.repository.js';

const maxConnections = 20;

/** Shows and changes the Syntrix connections of a workspace. Each change is audited in its own transaction. */
@Injectable()
export class SyntrixConnectionsService {
  constructor(
    private readonly prisma: PrismaService,
    private readonly connections: SyntrixConnectionsRepository,
    private readonly hosts: OutboundHostsRepository,
    private readonly fetch: GuardedFetch,
  ) {}

  /** Oldest first; empty without the right to read them. */
  async list(principal: MemberPrincipal, { first, after }: PageRequest): Promise<Page<SyntrixConnection>> {
    const take = Math.min(100, Math.max(1, first));
    const rows = await this.prisma.withWorkspace(principal, (tx) =>
      this.connections.list(tx, scopeOf(principal), { take: take + 1, after }),
    );
    return { items: rows.slice(0, take), hasMore: rows.length > take };
  }

  /**
   * Creates a connection, or replaces the one with this name. Throws `bad_request` (also if no request may be sent to `baseUrl`), `conflict` (20 already, or too
   * many workspaces use the name), `forbidden`.
   */
  async save(principal: MemberPrincipal, given: SavedSyntrixConnection): Promise<SyntrixConnection> {
    this.assertManages(principal);
    const { name, settings } = parseConnection(given);
    await this.checkAddress(principal.workspaceId, settings.baseUrl);
    return this.change(principal, 'syntrix-connection-saved', async (tx) => {
      const scope = scopeOf(principal);
      const known = await this.connections.find(tx, scope, name);
      if (known === null && (await this.connections.count(tx, scope)) >= maxConnections)
        throw tooManyConnections(maxConnections);
      if (known === null && (await this.connections.lockName(tx, name)) >= maxOfName) throw nameOfTooMany(name);
      const owner = keptOwner(known && { owner: known.owner, savedBy: known.createdBy }, principal);
      return this.connections.save(tx, scope, { id: known?.id ?? newId(), name, settings, owner });
    });
  }

  /** Deliveries to it are refused from then on. Throws `not_found`. */
  async remove(principal: MemberPrincipal, name: string): Promise<SyntrixConnection> {
    this.assertManages(principal);
    return this.change(principal, 'syntrix-connection-deleted', async (tx) => {
      const known = await this.connections.find(tx, scopeOf(principal), name);
      if (known === null) throw connectionNotFound();
      await this.connections.delete(tx, scopeOf(principal), known.id);
      return known;
    });
  }

  /** The outbound rules of the connection's requests. A host name that does not resolve may exist later. */
  private async checkAddress(workspaceId: string, url: string): Promise<void> {
    try {
      await this.fetch.check(url, await this.hosts.of(workspaceId));
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (isBlocked(error)) throw baseUrlRefused(error.message);
    }
  }

  private assertManages(principal: MemberPrincipal): void {
    const { workspaceId } = principal;
    assertCan(abilityOf(principal), { action: 'manage', subject: 'SyntrixConnection', row: { workspaceId } });
  }

  private change(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<SyntrixConnection>,
  ): Promise<SyntrixConnection> {
    const { workspaceId } = principal;
    return this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, workspaceId);
      const connection = await run(tx);
      const { id, name, settings } = connection;
      const details = { name, baseUrl: settings.baseUrl };
      await recordChange(tx, principal, { action, subjectType: 'SyntrixConnection', subjectId: id, details });
      return connection;
    });
  }
}
