import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, scopeOf } from '#auth';
import { type Agent, AgentsService, type ListedAgent } from '#chat';
import { ModelCatalog } from '#models';
import { AppError } from '#platform';
import { matchesGlob } from '#tools';
import { type PublishedWorkflow, PublishedWorkflowsRepository } from '#workflows';

import { OpenAiError } from '../../errors/openai-error.js';

const notFound = (what: string, id: string) =>
  new OpenAiError({
    status: 404,
    message: `${what} '${id.slice(0, 256)}' not found`,
    param: 'model',
    code: 'model_not_found',
  });

/** An absent model and a forbidden one look the same. */
const modelNotFound = (id: string) => notFound('Model', id);

/** `id` without its prefix. */
const workflowNotFound = (id: string) => notFound('Workflow', id);

/** `id` without its prefix. */
const teamNotFound = (id: string) => notFound('Team', id);

/** The workspace has no agent to choose from. */
const autoWithoutAgents = () => new OpenAiError({ status: 500, message: 'No agents configured for auto-routing' });

/** A model as `GET /v1/models` lists it. */
export interface ListedModel {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

/** The target of a request's `model`. */
export type ModelTarget =
  /** Also the target of `auto` if there is only one agent. */
  | { readonly type: 'agent'; readonly agent: Agent }
  | { readonly type: 'auto' }
  /** `prefix`: the one in the request. */
  | {
      readonly type: 'workflow';
      readonly workflowId: string;
      readonly workflow: PublishedWorkflow;
      readonly prefix: 'workflow' | 'team';
    }
  | { readonly type: 'model'; readonly name: string };

const AUTO: ListedModel = {
  id: 'auto',
  name: 'Auto',
  description: 'Whichever agent fits best, by its description.',
  createdAt: 0,
};

/** Resolves the ids of models in a workspace: `auto`, agents, workflows, and models of the provider. */
@Injectable()
export class ModelDirectory {
  constructor(
    private readonly agents: AgentsService,
    private readonly workflows: PublishedWorkflowsRepository,
    private readonly models: ModelCatalog,
  ) {}

  /** The models that the principal may use: `auto`, agents by name, `workflow/<slug>` by name, models of the provider. */
  async list(principal: MemberPrincipal): Promise<readonly ListedModel[]> {
    if (!mayStart(principal)) return [];
    const [agents, workflows, direct] = await Promise.all([
      this.agents.listed(principal),
      this.workflows.list(scopeOf(principal)),
      this.models.directModels(principal.workspaceId),
    ]);
    const known = new Set(agents.map(({ slug }) => slug));
    return [
      ...(agents.length === 0 ? [] : [AUTO]),
      ...agents.map(toAgentModel),
      ...workflows.map(toWorkflowModel),
      ...direct.filter((name) => isLiteral(name) && !known.has(name)).map(toProviderModel),
    ];
  }

  /** Finds a model by any id that a request may use. Throws `OpenAiError` 404 `model_not_found`. */
  async find(principal: MemberPrincipal, id: string): Promise<ListedModel> {
    if (id === 'auto') {
      if (!mayStart(principal) || (await this.agents.listed(principal)).length === 0) throw modelNotFound(id);
      return AUTO;
    }
    const target = await this.resolve(principal, id);
    switch (target.type) {
      case 'agent':
        return toAgentModel(target.agent);
      case 'workflow':
        return toWorkflowModel(target.workflow);
      case 'model':
        return toProviderModel(target.name);
      case 'auto':
        return AUTO;
    }
  }

  /**
   * Resolves a request's `model`. Agents take precedence over models of the provider. Throws `OpenAiError`: 404 `model_not_found`, also for
   * a model that the principal may not use, and 500 for `auto` if there are no agents.
   */
  async resolve(principal: MemberPrincipal, id: string): Promise<ModelTarget> {
    if (!mayStart(principal)) throw notFoundAs(id);
    if (id === 'auto') return this.auto(principal);
    for (const prefix of ['workflow', 'team'] as const)
      if (id.startsWith(`${prefix}/`)) return this.workflow(principal, id, prefix);
    const direct = await this.models.directModels(principal.workspaceId);
    const isDirect = direct.some((name) => name === id || matchesGlob(name, id));
    // For a model of the provider, read the agents again only if one may have the same name.
    const mayBeAgent = !isDirect || (await this.agents.mayBeNamed(principal.workspaceId, id));
    const agent = mayBeAgent ? await this.agent(principal, id) : null;
    if (agent !== null) return { type: 'agent', agent };
    if (isDirect) return { type: 'model', name: id };
    throw modelNotFound(id);
  }

  private async auto(principal: MemberPrincipal): Promise<ModelTarget> {
    const [first, ...others] = await this.agents.listed(principal);
    if (others.length > 0) return { type: 'auto' };
    const agent = first === undefined ? null : await this.agent(principal, first.id);
    if (agent === null) throw autoWithoutAgents();
    return { type: 'agent', agent };
  }

  private async workflow(principal: MemberPrincipal, id: string, prefix: 'workflow' | 'team'): Promise<ModelTarget> {
    const ref = id.slice(prefix.length + 1);
    const all = await this.workflows.list(scopeOf(principal));
    const workflow = all.find(({ slug }) => slug === ref) ?? all.find((one) => one.id === ref);
    if (workflow === undefined) throw notFoundAs(id);
    return { type: 'workflow', workflowId: workflow.id, workflow, prefix };
  }

  private async agent(principal: MemberPrincipal, ref: string): Promise<Agent | null> {
    try {
      return await this.agents.find(principal, ref);
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return null;
      throw error;
    }
  }
}

/** A caller who may not start jobs gets no models. */
function mayStart(principal: MemberPrincipal): boolean {
  const { workspaceId, userId } = principal;
  return abilityOf(principal).can('create', asSubject('Job', { workspaceId, createdBy: userId }));
}

function toAgentModel({ slug: id, name, description, createdAt }: ListedAgent): ListedModel {
  return { id, name, description, createdAt };
}

function toWorkflowModel({ slug, name, description, createdAt }: PublishedWorkflow): ListedModel {
  return { id: `workflow/${slug}`, name, description, createdAt };
}

function toProviderModel(name: string): ListedModel {
  return { id: name, name, description: '', createdAt: 0 };
}

/** A glob is a rule, not a model. */
function isLiteral(name: string): boolean {
  return !/[*?]/.test(name);
}

function notFoundAs(id: string) {
  if (id.startsWith('workflow/')) return workflowNotFound(id.slice('workflow/'.length));
  if (id.startsWith('team/')) return teamNotFound(id.slice('team/'.length));
  return modelNotFound(id);
}
