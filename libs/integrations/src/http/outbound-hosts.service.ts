import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type MemberPrincipal } from '#auth';
import { PrismaService, toHostPattern } from '#platform';
import { recordChange } from '#tools';

import { hostsInvalid } from './http.errors.js';
import { OutboundHostsRepository } from './outbound-hosts.repository.js';

const MAX_HOSTS = 200;

/** The hosts that the tools of a workspace may call. The list is read for every call. */
@Injectable()
export class OutboundHosts {
  constructor(
    private readonly prisma: PrismaService,
    private readonly hosts: OutboundHostsRepository,
  ) {}

  /** Empty: any public host. Throws `not_found` to principals that may not manage tools. */
  async get(principal: MemberPrincipal): Promise<readonly string[]> {
    assertMayManage(principal);
    return this.hosts.of(principal.workspaceId);
  }

  /**
   * Replaces the list, with at most 200 entries: hosts (`api.example.com`), and `*.` with a domain for all names below it. An empty list
   * allows all public hosts. Throws `bad_request`, `not_found`.
   */
  async set(principal: MemberPrincipal, hosts: readonly string[]): Promise<readonly string[]> {
    assertMayManage(principal);
    if (hosts.length > MAX_HOSTS) throw hostsInvalid(`at most ${MAX_HOSTS}`);
    const patterns = [...new Set(hosts.map(readPattern))];
    const { workspaceId } = principal;
    await this.prisma.withWorkspace(principal, async (tx) => {
      await this.hosts.replace(tx, workspaceId, patterns);
      const subject = { subjectType: 'Workspace', subjectId: workspaceId } as const;
      await recordChange(tx, principal, { action: 'outbound-hosts-set', ...subject, details: { hosts: patterns } });
    });
    return patterns;
  }
}

function readPattern(text: string): string {
  const pattern = toHostPattern(text);
  if (pattern === null) throw hostsInvalid(`"${text.slice(0, 100)}" is neither a host nor "*." and a domain`);
  return pattern;
}

function assertMayManage(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'WorkspaceTool', row: { workspaceId } });
}
