import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, asSubject, type MemberPrincipal, type Principal, scopeOf } from '#auth';
import {
  AppError,
  isId,
  newId,
  type Page,
  type PageRequest,
  PrismaService,
  type PrismaTransaction,
  systemClock,
  TimedCache,
  toSlug,
  toStorableText,
} from '#platform';
import { lockWorkspace, recordChange, ToolCatalog } from '#tools';

import type { Agent, AgentPin, AgentPreset, AgentSettings, AgentVersion, ListedAgent } from '../input/agent.js';
import { type AgentChanges, type NewAgent, type ReadAgent, readAgentInput } from './agent-input.js';
import {
  agentChanged,
  agentGone,
  agentInvalid,
  agentNameTaken,
  agentNotFound,
  agentSlugTaken,
  agentToolUnknown,
  agentVersionNotFound,
  defaultAgentNeeded,
  tooManyAgents,
} from './agents.errors.js';
import { type AgentIdentity, AgentsRepository, hashOf } from './agents.repository.js';

const MAX_AGENTS = 100;

/** How long another process may still accept an old name of an agent, ms. */
const FRESH_MS = 1_000;

const PLAIN: AgentSettings = {
  ...{ model: null, instructions: '', tools: [], externalTools: [] },
  ...{ limits: {}, parameters: {}, toolApproval: null, toolEventFormat: null },
};

/** A change of an agent. */
export interface AgentChange {
  readonly ref: string;
  readonly changes: AgentChanges;
  /** The version that the change is based on; null: any version. */
  readonly expectedVersion: number | null;
}

/**
 * The agents of a workspace. Every member may read and use them; members with the right to manage agents may change them. A change of
 * settings creates a new version; old versions stay, and jobs keep the version that they use. Changes of one workspace are serialized and
 * audited.
 */
@Injectable()
export class AgentsService {
  private readonly names = new TimedCache<ReadonlySet<string>>({ clock: systemClock, ttlMs: FRESH_MS, max: 10_000 });

  constructor(
    private readonly prisma: PrismaService,
    private readonly agents: AgentsRepository,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Agents that are not archived, by name. */
  async list(principal: MemberPrincipal, { first, after }: PageRequest): Promise<Page<Agent>> {
    const agents = await this.all(principal);
    const begin = after === undefined ? 0 : agents.findIndex(({ id }) => id === after) + 1;
    return { items: agents.slice(begin, begin + first), hasMore: agents.length > begin + first };
  }

  /** All agents that are not archived, by name; at most 100. */
  all(principal: Principal): Promise<readonly Agent[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.agents.list(tx, scopeOf(principal)));
  }

  /** Like `all`, without the settings. */
  listed(principal: Principal): Promise<readonly ListedAgent[]> {
    return this.prisma.withWorkspace(principal, (tx) => this.agents.listed(tx, scopeOf(principal)));
  }

  /** Finds an agent by id, slug or name. Throws `not_found`, also for an archived agent. */
  async find(principal: Principal, ref: string): Promise<Agent> {
    const { workspaceId } = principal;
    const mayRead = abilityOf(principal).can('read', asSubject('Agent', { workspaceId }));
    const agent = mayRead ? await this.agents.findNow(workspaceId, ref) : null;
    if (agent === null) throw agentNotFound();
    return agent;
  }

  /** Whether `ref` is, or was within the last second, the name of an agent. If so, a `/v1` request may mean the agent instead of a model. */
  async mayBeNamed(workspaceId: string, ref: string): Promise<boolean> {
    if (isId(ref)) return true;
    const names = await this.names.get(workspaceId, () => this.agents.namesNow(workspaceId));
    return names.has(toStorableText(ref));
  }

  /** The settings of these versions, for running jobs, in the order of the pins; also of archived agents. Throws `agent_gone`. */
  async pinned(workspaceId: string, pins: readonly AgentPin[]): Promise<readonly AgentPreset[]> {
    const presets = await this.agents.pinned(workspaceId, pins);
    if (presets.length < pins.length) throw agentGone();
    return presets;
  }

  /** The versions below number `below`, newest first. Throws `not_found`. */
  async versions(
    principal: MemberPrincipal,
    ref: string,
    { first, below }: { readonly first: number; readonly below: number | undefined },
  ): Promise<Page<AgentVersion>> {
    const rows = await this.prisma.withWorkspace(principal, async (tx) => {
      const { id } = await this.get(tx, principal, ref);
      return this.agents.versions(tx, scopeOf(principal), { id, take: first + 1, below });
    });
    return { items: rows.slice(0, first), hasMore: rows.length > first };
  }

  /**
   * Creates an agent; the first of a workspace becomes the default. Throws `bad_request` with the invalid member, `conflict` (name or slug in
   * use, limit reached).
   */
  async create(principal: MemberPrincipal, input: NewAgent): Promise<Agent> {
    assertMayManage(principal);
    const read = readAgentInput(input);
    const settings = { ...PLAIN, ...read.settings };
    await this.assertTools(principal, settings, PLAIN);
    return this.change(principal, 'agent-created', async (tx) => {
      const others = await this.agents.listed(tx, scopeOf(principal));
      if (others.length >= MAX_AGENTS) throw tooManyAgents(MAX_AGENTS);
      const identity = toIdentity(read, newId());
      assertFree(others, identity);
      await this.agents.create(tx, scopeOf(principal), { identity, isDefault: others.length === 0, settings });
      return identity.id;
    });
  }

  /**
   * Creates an agent, or updates the one with its slug (without a slug: with its name); absent fields do not change. Repeating the call
   * changes nothing. Throws the errors of `create` and `update`.
   */
  async upsert(principal: MemberPrincipal, input: NewAgent): Promise<Agent> {
    assertMayManage(principal);
    const { slug, name } = readAgentInput(input);
    const ref = slug ?? name ?? '';
    const existing = await this.find(principal, ref).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return null;
      throw error;
    });
    if (existing === null) return this.create(principal, input);
    return this.update(principal, { ref: existing.id, changes: input, expectedVersion: null });
  }

  /** Throws the errors of `create`, `not_found`, and `conflict` (another member has changed the agent). */
  async update(principal: MemberPrincipal, { ref, changes, expectedVersion }: AgentChange): Promise<Agent> {
    assertMayManage(principal);
    const read = readAgentInput(changes);
    const before = await this.find(principal, ref);
    await this.assertTools(principal, { ...PLAIN, ...read.settings }, before);
    return this.change(principal, 'agent-changed', async (tx) => {
      const agent = await this.get(tx, principal, before.id);
      if (expectedVersion !== null && expectedVersion !== agent.version) throw agentChanged(agent.version);
      const { settings, ...identity } = read;
      const { id, name, slug, description, maxRunningJobs } = { ...agent, ...identity };
      assertFree(await this.agents.listed(tx, scopeOf(principal)), { id, name, slug });
      await this.agents.rename(tx, scopeOf(principal), { id, name, slug, description, maxRunningJobs });
      await this.put(tx, principal, { agent, settings: { ...settingsOf(agent), ...settings } });
      return id;
    });
  }

  /** Makes the settings of an old version current, as a new version. Throws `not_found`, `forbidden`. */
  async restore(principal: MemberPrincipal, ref: string, number: number): Promise<Agent> {
    assertMayManage(principal);
    return this.change(principal, 'agent-restored', async (tx) => {
      const agent = await this.get(tx, principal, ref);
      const version = await this.agents.version(tx, scopeOf(principal), { id: agent.id, version: number });
      if (version === null) throw agentVersionNotFound();
      await this.put(tx, principal, { agent, settings: settingsOf(version) });
      return agent.id;
    });
  }

  /** Makes the agent the one that `auto` uses if no other fits. Throws `not_found`, `forbidden`. */
  async setDefault(principal: MemberPrincipal, ref: string): Promise<Agent> {
    assertMayManage(principal);
    return this.change(principal, 'agent-made-default', async (tx) => {
      const { id } = await this.get(tx, principal, ref);
      await this.agents.setDefault(tx, scopeOf(principal), id);
      return id;
    });
  }

  /**
   * Archives an agent: it is no longer found, and its name becomes free. Jobs that use it continue. Throws `not_found`, `conflict` (the
   * default agent, if there are others).
   */
  async archive(principal: MemberPrincipal, ref: string): Promise<Agent> {
    assertMayManage(principal);
    const archived = await this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const agent = await this.get(tx, principal, ref);
      const others = await this.agents.listed(tx, scopeOf(principal));
      if (agent.isDefault && others.length > 1) throw defaultAgentNeeded();
      await this.agents.archive(tx, scopeOf(principal), agent.id);
      await audit(tx, principal, { action: 'agent-archived', agent });
      return { ...agent, isDefault: false, archivedAt: Date.now() };
    });
    this.names.forget(principal.workspaceId);
    return archived;
  }

  /** Adds a version, unless its settings equal the current settings. */
  private async put(
    tx: PrismaTransaction,
    principal: MemberPrincipal,
    { agent, settings }: { readonly agent: Agent; readonly settings: AgentSettings },
  ): Promise<void> {
    if (hashOf(settings) === hashOf(settingsOf(agent))) return;
    const { id, version } = agent;
    await this.agents.setVersion(tx, scopeOf(principal), { id, number: version + 1, settings });
  }

  /** New tools must exist. Tools that the agent already had may have been removed since. */
  private async assertTools(
    principal: MemberPrincipal,
    given: Pick<AgentSettings, 'tools' | 'externalTools'>,
    before: Pick<AgentSettings, 'tools' | 'externalTools'>,
  ): Promise<void> {
    const tools = await this.catalog.offeredTo(principal);
    for (const field of ['tools', 'externalTools'] as const) {
      const isKnown = (name: string) => /[*?]/.test(name) || before[field].includes(name) || tools.find(name)?.enabled;
      const unknown = given[field].find((name) => isKnown(name) !== true);
      if (unknown !== undefined) throw agentToolUnknown(field, unknown);
    }
  }

  private async get(tx: PrismaTransaction, principal: Principal, ref: string): Promise<Agent> {
    const agent = await this.agents.find(tx, scopeOf(principal), ref);
    if (agent === null) throw agentNotFound();
    return agent;
  }

  private async change(
    principal: MemberPrincipal,
    action: string,
    run: (tx: PrismaTransaction) => Promise<string>,
  ): Promise<Agent> {
    const changed = await this.prisma.withWorkspace(principal, async (tx) => {
      await lockWorkspace(tx, principal.workspaceId);
      const agent = await this.get(tx, principal, await run(tx));
      await audit(tx, principal, { action, agent });
      return agent;
    });
    this.names.forget(principal.workspaceId);
    return changed;
  }
}

function toIdentity({ name, slug, description = '', maxRunningJobs = null }: ReadAgent, id: string): AgentIdentity {
  if (name === undefined) throw agentInvalid('name', 'must not be empty');
  const own = toSlug(name);
  // "auto" is reserved; a name without latin letters or digits has an empty slug.
  const isUsable = own !== '' && own !== 'auto';
  return { id, name, slug: slug ?? (isUsable ? own : `agent-${id.slice(-6)}`), description, maxRunningJobs };
}

function assertFree(
  others: readonly ListedAgent[],
  { id, name, slug }: Pick<AgentIdentity, 'id' | 'name' | 'slug'>,
): void {
  const rest = others.filter((other) => other.id !== id);
  if (rest.some((other) => other.name === name)) throw agentNameTaken(name);
  if (rest.some((other) => other.slug === slug)) throw agentSlugTaken(slug);
}

function settingsOf(of: AgentSettings): AgentSettings {
  const { model, instructions, tools, externalTools, limits, parameters, toolApproval, toolEventFormat } = of;
  return { model, instructions, tools, externalTools, limits, parameters, toolApproval, toolEventFormat };
}

async function audit(
  tx: PrismaTransaction,
  principal: MemberPrincipal,
  { action, agent }: { readonly action: string; readonly agent: Agent },
): Promise<void> {
  const { id: subjectId, name, slug, version, isDefault, maxRunningJobs } = agent;
  const details = { name, slug, version, isDefault, maxRunningJobs, hash: hashOf(agent) };
  await recordChange(tx, principal, { action, subjectType: 'Agent', subjectId, details });
}

function assertMayManage(principal: MemberPrincipal): void {
  const { workspaceId } = principal;
  assertCan(abilityOf(principal), { action: 'manage', subject: 'Agent', row: { workspaceId } });
}
