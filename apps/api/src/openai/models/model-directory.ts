import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type AgentPreset, AgentsService } from '#chat';

/** A model as `GET /v1/models` lists it. */
export interface ListedModel {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Ms since the epoch. */
  readonly createdAt: number;
}

/** What a `model` of a request means. */
export type ModelTarget =
  /** Also what `auto` means where there is one agent only. */
  | { readonly type: 'agent'; readonly agent: AgentPreset }
  | { readonly type: 'auto' }
  /** `prefix`: what the request called it by. */
  | { readonly type: 'workflow'; readonly workflowId: string; readonly prefix: 'workflow' | 'team' }
  | { readonly type: 'model'; readonly name: string };

/** What the ids of models stand for in a workspace: `auto`, agents, workflows, and models of the provider. */
@Injectable()
export class ModelDirectory {
  constructor(private readonly agents: AgentsService) {}

  /** What the principal may use: `auto`, agents by name, `workflow/<slug>` by name, models of the provider. */
  async list(principal: MemberPrincipal): Promise<readonly ListedModel[]> {
    const agents = await this.agents.all(principal);
    return agents.map(({ slug: id, name, description, createdAt }) => ({ id, name, description, createdAt }));
  }

  /** Throws `OpenAiError` 404 `model_not_found`, and 500 for `auto` where there are no agents. */
  async resolve(principal: MemberPrincipal, id: string): Promise<ModelTarget> {
    return { type: 'agent', agent: await this.agents.find(principal, id) };
  }
}
