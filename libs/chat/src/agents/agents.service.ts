import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, type Page, type PageRequest, type Principal } from '#auth';

import type { Agent } from './agent.js';
import { agentNotFound } from './agents.errors.js';

/** The agents of a workspace: everybody reads and uses them, those who may manage them change them. */
@Injectable()
export class AgentsService {
  private readonly known: readonly Agent[] = [];

  /** Those that are not archived, by name. */
  async list(principal: Principal, { first }: PageRequest): Promise<Page<Agent>> {
    const agents = await this.all(principal);
    return { items: agents.slice(0, first), hasMore: agents.length > first };
  }

  /** All that are not archived, by name; a workspace has at most 100. */
  all(principal: Principal): Promise<readonly Agent[]> {
    const { workspaceId } = principal;
    const mayRead = abilityOf(principal).can('read', asSubject('Workflow', { workspaceId }));
    return Promise.resolve(mayRead ? this.known : []);
  }

  /** By our id, its slug or its name. Throws `not_found`, also for an archived one. */
  async find(principal: MemberPrincipal, ref: string): Promise<Agent> {
    const found = (await this.all(principal)).find(({ id, slug, name }) => [id, slug, name].includes(ref));
    if (found === undefined) throw agentNotFound();
    return found;
  }
}
