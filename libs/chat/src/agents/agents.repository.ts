import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import {
  type AgentRow,
  type AgentVersionRow,
  isId,
  Prisma,
  PrismaService,
  type PrismaTransaction,
  type Scope,
  toStorableText,
} from '#platform';
import { canonicalJson } from '#tools';

import type {
  Agent,
  AgentPin,
  AgentPreset,
  AgentSettings,
  AgentVersion,
  ChosenAgent,
  ListedAgent,
} from '../input/agent.js';
import { ROUTING_ROUND } from './route-to-agent.js';

/** The fields of an agent that are not part of its versions. */
export interface AgentIdentity {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly description: string;
  readonly maxRunningJobs: number | null;
}

/** The agents of a workspace and their versions. The rows of archived agents are kept, and only jobs can read them. */
@Injectable()
export class AgentsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** All agents, by name. */
  async list(tx: PrismaTransaction, scope: Scope): Promise<Agent[]> {
    return asTheyAre(tx, scope, await tx.agent.findMany({ where: readable(scope), orderBy: { name: 'asc' } }));
  }

  /** All agents, by name, without their settings. */
  async listed(tx: PrismaTransaction, scope: Scope): Promise<ListedAgent[]> {
    const select = { id: true, name: true, slug: true, description: true, createdAt: true } as const;
    const rows = await tx.agent.findMany({ where: readable(scope), orderBy: { name: 'asc' }, select });
    return rows.map(({ createdAt, ...row }) => ({ ...row, createdAt: createdAt.getTime() }));
  }

  /** Finds an agent by our id, else by its slug, else by its name. Returns null if it is absent, archived, or not readable. */
  async find(tx: PrismaTransaction, scope: Scope, given: string): Promise<Agent | null> {
    const ref = toStorableText(given);
    const named = { OR: [...(isId(ref) ? [{ id: ref }] : []), { slug: ref }, { name: ref }] };
    const rows = await tx.agent.findMany({ where: { AND: [readable(scope), named] }, take: 3 });
    const row = rows.find(({ id }) => id === ref) ?? rows.find(({ slug }) => slug === ref) ?? rows[0];
    const [agent = null] = row === undefined ? [] : await asTheyAre(tx, scope, [row]);
    return agent;
  }

  /** Like `find`, in one statement for the start of a job; does not check rights. */
  async findNow(workspaceId: string, given: string): Promise<Agent | null> {
    const name = toStorableText(given);
    const id = isId(name) ? name : null;
    const [row] = await this.prisma.queryInWorkspace<AgentNow>(
      { workspaceId },
      Prisma.sql`${agentColumns}
        FROM agent a JOIN agent_version v ON v.workspace_id = a.workspace_id AND v.agent_id = a.id AND v.number = a.version
       WHERE a.workspace_id = ${workspaceId}::uuid AND a.archived_at IS NULL
         AND (a.id = ${id}::uuid OR a.slug = ${name} OR a.name = ${name})
       ORDER BY a.id = ${id}::uuid DESC NULLS LAST, a.slug = ${name} DESC LIMIT 1`,
    );
    return row === undefined ? null : toAgent(row, row);
  }

  /** Every name and slug by which an agent of the workspace is found. Does not check rights. */
  async namesNow(workspaceId: string): Promise<ReadonlySet<string>> {
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.agent.findMany({ where: { workspaceId, archivedAt: null }, select: { slug: true, name: true } }),
    );
    return new Set(rows.flatMap(({ slug, name }) => [slug, name]));
  }

  async create(
    tx: PrismaTransaction,
    scope: Scope,
    agent: { readonly identity: AgentIdentity; readonly isDefault: boolean; readonly settings: AgentSettings },
  ): Promise<void> {
    const { workspaceId, principal: createdBy } = scope;
    const { identity, isDefault, settings } = agent;
    await tx.agent.create({ data: { ...identity, workspaceId, isDefault, createdBy } });
    await this.addVersion(tx, scope, { id: identity.id, number: 1, settings });
  }

  async rename(tx: PrismaTransaction, scope: Scope, { id, ...identity }: AgentIdentity): Promise<void> {
    const data = { ...identity, updatedAt: new Date() };
    await tx.agent.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  /** Adds a version and makes it the current one. */
  async setVersion(
    tx: PrismaTransaction,
    scope: Scope,
    version: { readonly id: string; readonly number: number; readonly settings: AgentSettings },
  ): Promise<void> {
    const { id, number } = version;
    await this.addVersion(tx, scope, version);
    const data = { version: number, updatedAt: new Date() };
    await tx.agent.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  async setDefault(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    await tx.agent.updateMany({ where: { AND: [readable(scope), { isDefault: true }] }, data: { isDefault: false } });
    await tx.agent.updateMany({ where: { AND: [readable(scope), { id }] }, data: { isDefault: true } });
  }

  async archive(tx: PrismaTransaction, scope: Scope, id: string): Promise<void> {
    const data = { archivedAt: new Date(), isDefault: false };
    await tx.agent.updateMany({ where: { AND: [readable(scope), { id }] }, data });
  }

  /** The versions of an agent, newest first; `below` is a version number. */
  async versions(
    tx: PrismaTransaction,
    scope: Scope,
    wanted: { readonly id: string; readonly take: number; readonly below: number | undefined },
  ): Promise<AgentVersion[]> {
    const { id, take, below } = wanted;
    const where = { ...versionsOf(scope, id), ...(below === undefined ? {} : { number: { lt: below } }) };
    const rows = await tx.agentVersion.findMany({ where, orderBy: { number: 'desc' }, take });
    return rows.map(toVersion);
  }

  /** Returns null if the version does not exist. */
  async version(tx: PrismaTransaction, scope: Scope, { id, version: number }: AgentPin): Promise<AgentVersion | null> {
    const row = await tx.agentVersion.findFirst({ where: { ...versionsOf(scope, id), number } });
    return row === null ? null : toVersion(row);
  }

  /**
   * The settings of these versions, in the order of the pins, without versions that do not exist; also of agents that were archived
   * meanwhile. Checks only the workspace, because running jobs call it.
   */
  async pinned(workspaceId: string, pins: readonly AgentPin[]): Promise<readonly AgentPreset[]> {
    if (pins.length === 0) return [];
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.agentVersion.findMany({
        where: { workspaceId, OR: pins.map(({ id, version: number }) => ({ agentId: id, number })) },
        include: { agent: true },
      }),
    );
    const presets = new Map(rows.map((row) => [row.agentId, toPreset(row.agent, row)]));
    return pins.flatMap(({ id }) => presets.get(id) ?? []);
  }

  /** The agent that a job has chosen; null if it has chosen none yet. */
  async chosen(workspaceId: string, jobId: string): Promise<ChosenAgent | null> {
    const row = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.round.findUnique({ where: { workspaceId_jobId_number: { workspaceId, jobId, number: ROUTING_ROUND } } }),
    );
    return row?.captured == null ? null : toChosen(row.captured);
  }

  private async addVersion(
    tx: PrismaTransaction,
    { workspaceId, principal: createdBy }: Scope,
    {
      id: agentId,
      number,
      settings,
    }: { readonly id: string; readonly number: number; readonly settings: AgentSettings },
  ): Promise<void> {
    const { model, instructions, tools, externalTools, toolEventFormat } = settings;
    await tx.agentVersion.create({
      data: {
        ...{ workspaceId, agentId, number, createdBy, model, instructions, toolEventFormat, hash: hashOf(settings) },
        tools: [...tools],
        externalTools: [...externalTools],
        ...toJsonColumns(settings),
      },
    });
  }
}

type VersionFields = Pick<AgentVersionRow, 'number' | keyof AgentSettings>;
type AgentNow = Omit<AgentRow, 'workspaceId' | 'version'> & VersionFields;

const agentColumns = Prisma.sql`SELECT a.id, a.name, a.slug, a.description, a.max_running_jobs AS "maxRunningJobs",
  a.is_default AS "isDefault",
  a.created_by AS "createdBy", a.created_at AS "createdAt", a.updated_at AS "updatedAt", a.archived_at AS "archivedAt",
  v.number, v.model, v.instructions, v.tools, v.external_tools AS "externalTools", v.limits, v.parameters,
  v.tool_approval AS "toolApproval", v.tool_event_format AS "toolEventFormat"`;

/** The hash of an agent's settings: SHA-256 (hex) of their canonical JSON. */
export function hashOf({ model, instructions, tools, externalTools, ...rest }: AgentSettings): string {
  const { limits, parameters, toolApproval, toolEventFormat } = rest;
  const hashed = {
    ...{ model, instructions, tools, externalTools, limits, parameters, toolApproval },
    // Versions that were stored before this setting existed keep their hash.
    ...(toolEventFormat === null ? {} : { toolEventFormat }),
  };
  return createHash('sha256').update(canonicalJson(hashed)).digest('hex');
}

/** The casts hold: `readAgentInput` has parsed the settings from JSON. */
function toJsonColumns({ limits, parameters, toolApproval }: AgentSettings) {
  return {
    limits: limits as Prisma.InputJsonObject,
    parameters: parameters as Prisma.InputJsonObject,
    toolApproval: toolApproval === null ? Prisma.DbNull : (toolApproval as unknown as Prisma.InputJsonObject),
  };
}

function toChosen(captured: string): ChosenAgent {
  // Written by `routingWrite` from a ChosenAgent.
  const { id, version, name, slug } = JSON.parse(captured) as ChosenAgent;
  return { id, version, name, slug };
}

function readable(scope: Scope): Prisma.AgentWhereInput {
  return { AND: [scope.where('Agent'), { workspaceId: scope.workspaceId, archivedAt: null }] };
}

function versionsOf(scope: Scope, agentId: string): Prisma.AgentVersionWhereInput {
  return { workspaceId: scope.workspaceId, agentId, agent: { is: readable(scope) } };
}

/** Reads the current version of each agent, in one statement. */
async function asTheyAre(tx: PrismaTransaction, { workspaceId }: Scope, rows: readonly AgentRow[]): Promise<Agent[]> {
  if (rows.length === 0) return [];
  const current = rows.map(({ id: agentId, version: number }) => ({ agentId, number }));
  const versions = await tx.agentVersion.findMany({ where: { workspaceId, OR: current } });
  const byAgent = new Map(versions.map((version) => [version.agentId, version]));
  return rows.map((row) => toAgent(row, byAgent.get(row.id)));
}

function toAgent(row: Omit<AgentRow, 'workspaceId' | 'version'>, version: VersionFields | undefined): Agent {
  if (version === undefined) throw new Error(`agent ${row.id} has no version`);
  const { isDefault, createdBy, createdAt, updatedAt, archivedAt } = row;
  return {
    ...toPreset(row, version),
    ...{ isDefault, createdBy },
    archivedAt: archivedAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  };
}

function toPreset(identity: AgentIdentity, version: VersionFields): AgentPreset {
  const { id, name, slug, description, maxRunningJobs } = identity;
  return { id, version: version.number, name, slug, description, maxRunningJobs, ...toSettings(version) };
}

function toVersion(row: AgentVersionRow): AgentVersion {
  const { agentId, number, hash, createdBy, createdAt } = row;
  return { agentId, number, hash, createdBy, createdAt: createdAt.getTime(), ...toSettings(row) };
}

function toSettings({ model, instructions, tools, externalTools, ...json }: VersionFields): AgentSettings {
  return {
    ...{ model, instructions, tools, externalTools },
    // The casts hold: `addVersion` stores only parsed input.
    limits: json.limits as AgentSettings['limits'],
    parameters: json.parameters as AgentSettings['parameters'],
    toolApproval: json.toolApproval as AgentSettings['toolApproval'],
    toolEventFormat: json.toolEventFormat as AgentSettings['toolEventFormat'],
  };
}
