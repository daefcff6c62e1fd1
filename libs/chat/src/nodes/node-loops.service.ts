import { Injectable } from '@nestjs/common';

import type { ClaimedJob } from '#jobs';
import { ModelCatalog } from '#models';
import { Config, defined } from '#platform';
import { type OfferedTool, resolveOffered, ToolCatalog } from '#tools';

import { coveredBy, tightened } from '../agents/apply-agent.js';
import { AttachedFiles } from '../attachments/attached-files.service.js';
import type { CallingRun } from '../calls/calling-run.js';
import { outputReaderOf } from '../calls/output-reader-of.js';
import { requesterOf } from '../calls/requester-of.js';
import { repairConversation } from '../history/repair-conversation.js';
import { type DirectCall, directCall } from '../input/direct-call.js';
import type { LoopInput, LoopLimits, LoopRound } from '../loop/loop-step.js';
import { maxRestartsPerRound, withRoundLimit } from '../loop/round-limit.js';
import { ProviderOutages } from '../outages/provider-outages.service.js';
import {
  agentOf,
  type ConversationOptions,
  type NodeAgentOptions,
  type NodeConversation,
} from './node-conversation.js';

/** A conversation to run: with a model, or a call that the node makes itself. */
export type NodeRequest = Omit<NodeConversation, 'model'> & {
  readonly model: string | null | DirectCall;
};

/** The state that a conversation shares with the others of its job. */
export interface NodeRounds {
  readonly options: ConversationOptions;
  readonly rounds: readonly LoopRound[];
  readonly nextRound: () => number;
  readonly callIds: ReadonlySet<string>;
}

/** Builds the input of the loop for a node. */
@Injectable()
export class NodeLoops {
  constructor(
    private readonly models: ModelCatalog,
    private readonly catalog: ToolCatalog,
    private readonly config: Config,
    readonly outages: ProviderOutages,
    private readonly attached: AttachedFiles,
  ) {}

  /** `routed`: all tools that a call may name. Throws the errors of `ModelCatalog`. */
  async inputFor(
    { job, signal }: CallingRun,
    request: NodeRequest,
    given: NodeRounds,
  ): Promise<{ readonly input: LoopInput; readonly routed: readonly OfferedTool[] }> {
    const agent = agentOf(given.options, request);
    const { model, modelName } = await this.modelOf(job, request.model);
    const tools = await this.catalog.of(job.workspaceId);
    const offered = await this.offered(job, { names: request.tools, agent }, given.options);
    const outputReader = outputReaderOf(tools);
    const { capture, toolChoice, parameters } = request;
    const input: LoopInput = {
      model: withRoundLimit(
        model,
        Math.min(this.config.values.ROUND_TIMEOUT_MS, agent?.limits.roundTimeoutMs ?? Infinity),
      ),
      modelName,
      ...defined({ parameters, toolChoice, capture }),
      messages: repairConversation(request.messages),
      rounds: given.rounds,
      offered,
      ...defined({ outputReader }),
      nextRound: given.nextRound,
      usedCallIds: given.callIds,
      unknownTool,
      limits: this.limitsOf(request, agent),
      signal,
    };
    return { input, routed: outputReader === undefined ? offered : [...offered, outputReader] };
  }

  private async modelOf(
    job: ClaimedJob,
    wanted: NodeRequest['model'],
  ): Promise<Pick<LoopInput, 'model' | 'modelName'>> {
    if (typeof wanted === 'object' && wanted !== null) return { model: directCall(wanted), modelName: '' };
    const { workspaceId } = job;
    const options = { workspaceId, wanted, hasOwnKey: job.keyCipher !== null };
    const name = wanted ?? (await this.models.modelNameFor(options));
    const { model, modelName } = await this.models.modelOf({ ...job, model: name });
    return { model: this.attached.readable(model, { workspaceId, modelName }), modelName };
  }

  /**
   * The limits of the installation, tightened by those of the agent. The node counts its rounds itself, because a person may permit more of them.
   */
  private limitsOf({ maxIterations: maxRounds }: NodeRequest, agent: NodeAgentOptions | null): LoopLimits {
    const { MAX_TOOL_CALLS_PER_ROUND: maxToolCallsPerRound, MAX_OUTPUT_BYTES: maxOutputBytes } = this.config.values;
    const limits = { maxRounds, lastRound: 'like-others', maxToolCallsPerRound, maxOutputBytes } as const;
    return { ...tightened({ ...limits, maxRestartsPerRound }, agent), maxRounds };
  }

  private async offered(
    job: ClaimedJob,
    { names, agent }: { readonly names: readonly string[]; readonly agent: NodeAgentOptions | null },
    { toolPins: pins, client }: ConversationOptions,
  ): Promise<readonly OfferedTool[]> {
    const { workflowId } = job;
    const tools = await this.catalog.offeredTo(requesterOf(job));
    const all = names.includes('*') ? [...names, ...tools.list().map(({ name }) => name)] : names;
    // Tools that the agent leaves to clients are dropped if the job has no client.
    const external = new Set(agent === null ? [] : coveredBy(agent.externalTools, all));
    const wanted = client === undefined ? all.filter((name) => !external.has(name)) : all;
    const isItself = (name: string) => workflowId !== null && tools.find(name)?.workflowId === workflowId;
    const definitions = wanted.flatMap((name) => (isItself(name) ? [] : (tools.definitionOf(name) ?? [])));
    const offered = resolveOffered(definitions, tools, {
      runtimes: Object.fromEntries([...external].map((name) => [name, 'client' as const])),
      ...defined({ pins, client }),
    });
    // A tool that cannot run here is offered only if the node names it.
    return offered.filter(
      ({ name, handling }) => names.includes(name) || handling === 'server' || handling === 'client',
    );
  }
}

/** The result that the model reads after a call of a tool that is unknown, or hidden from it. */
export function unknownTool(name: string): string {
  return `Tool ${name} not found or no handler registered`;
}
