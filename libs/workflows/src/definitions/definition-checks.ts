import { Injectable } from '@nestjs/common';

import { systemPrincipal } from '#auth';
import { type Agent, AgentsService } from '#chat';
import { Config, defined, mapInSlices, toModelPrices } from '#platform';
import { ToolCatalog, type WorkspaceTools } from '#tools';

import { type ParsedDocument, parseDocument, type WorkflowDocument } from '../definition/document.js';
import { memberOf } from '../definition/json.js';
import { LIMITS } from '../definition/limits.js';
import { type ValidateOptions, validateWorkflow, type Validation } from '../definition/validation/validate.js';
import { PluginNodes } from '../plugin-nodes/plugin-nodes.js';
import { DefinitionsRepository } from './definitions.repository.js';
import { priceOf } from './run-spending.js';

/** The published version of a subflow. */
export interface FoundSubflow {
  readonly id: string;
  readonly version: number;
  readonly json: unknown;
  readonly document: WorkflowDocument;
}

/** A definition and the subflows and agents of the workspace that it uses. */
export interface CheckedDefinition {
  /** Null: the value is not a workflow document. */
  readonly document: WorkflowDocument | null;
  readonly result: Validation;
  /** All subflows that it uses, including those of subflows, by the ids in the definitions. */
  readonly subflows: ReadonlyMap<string, FoundSubflow>;
  readonly tools: WorkspaceTools;
  /** The agents that it names, by the names in the definition. */
  readonly agents: ReadonlyMap<string, Agent>;
}

/** Checks definitions against the tools and the published subflows of their workspace. */
@Injectable()
export class DefinitionChecks {
  constructor(
    private readonly definitions: DefinitionsRepository,
    private readonly catalog: ToolCatalog,
    private readonly agents: AgentsService,
    private readonly pluginNodes: PluginNodes,
    private readonly config: Config,
  ) {}

  /** `strict`: a known field with a wrong type is an error, else it is taken as absent. */
  async look(
    workspaceId: string,
    json: unknown,
    { strict, workflowId }: { readonly strict: boolean; readonly workflowId?: string },
  ): Promise<CheckedDefinition> {
    const parsed = parseDocument(json);
    const [subflows, tools] = await Promise.all([this.subflowsOf(workspaceId, parsed), this.catalog.of(workspaceId)]);
    const documents = [
      ...(parsed.ok ? [parsed.document] : []),
      ...[...subflows.values()].map(({ document }) => document),
    ];
    const agents = await this.agentsOf(workspaceId, documents);
    const result = validateWorkflow(json, {
      strict,
      agents: new Set(agents.keys()),
      pluginNodes: this.pluginNodes,
      tools: new Set(tools.list().map(({ name }) => name)),
      subflows: (id) => subflows.get(id)?.json,
      ...this.prices(),
      ...defined({ workflowId }),
    });
    return { document: parsed.ok ? parsed.document : null, result, subflows, tools, agents };
  }

  private prices(): Pick<ValidateOptions, 'isPriced'> {
    const prices = toModelPrices(this.config.values.MODEL_PRICES);
    return prices.length === 0 ? {} : { isPriced: (model) => priceOf(prices, model) !== undefined };
  }

  private async agentsOf(
    workspaceId: string,
    documents: readonly WorkflowDocument[],
  ): Promise<ReadonlyMap<string, Agent>> {
    const wanted = new Set(documents.flatMap((document) => namesIn(document, 'agent', 'agent')));
    if (wanted.size === 0) return new Map();
    const all = await this.agents.all(systemPrincipal(workspaceId));
    const known = [
      ...all.map((agent) => [agent.name, agent] as const),
      ...all.map((agent) => [agent.slug, agent] as const),
    ];
    const named = new Map([...known, ...all.map((agent) => [agent.id, agent] as const)]);
    return new Map([...named].filter(([name]) => wanted.has(name)));
  }

  /**
   * Reads one level of subflows at a time until a level names nothing new. Deeper or further subflows than allowed are left to the validation, which
   * reports them.
   */
  private async subflowsOf(workspaceId: string, root: ParsedDocument): Promise<ReadonlyMap<string, FoundSubflow>> {
    const found = new Map<string, FoundSubflow>();
    const asked = new Set<string>();
    let wanted = root.ok ? subflowIdsIn(root.document) : [];
    while (wanted.length > 0 && asked.size <= LIMITS.subflows) {
      for (const id of wanted) asked.add(id);
      const published = await this.definitions.published(workspaceId, wanted);
      const documents: WorkflowDocument[] = [];
      await mapInSlices(published, ([ref, { id, version, definition }]) => {
        const json: unknown = JSON.parse(definition);
        const parsed = parseDocument(json);
        if (!parsed.ok) return;
        documents.push(parsed.document);
        found.set(ref, { id, version, json, document: parsed.document });
      });
      wanted = [...new Set(documents.flatMap(subflowIdsIn))].filter((id) => !asked.has(id));
    }
    return found;
  }
}

function subflowIdsIn(document: WorkflowDocument): readonly string[] {
  return namesIn(document, 'subflow', 'subflowId');
}

function namesIn({ nodes }: WorkflowDocument, wanted: string, member: string): readonly string[] {
  const named = nodes.filter(({ type }) => type === wanted).map(({ data }) => memberOf(data, member));
  return [...new Set(named.filter((id) => typeof id === 'string').filter((id) => id !== ''))];
}
