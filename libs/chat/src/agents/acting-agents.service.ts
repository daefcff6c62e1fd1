import { Injectable } from '@nestjs/common';

import { type ClaimedJob, type JobRun, roundRow, type RunWrite } from '#jobs';
import { isProviderDown, type Model, ModelCatalog, type ModelUsage } from '#models';
import { Config, crashpoint, systemClock } from '#platform';

import { AttachedFiles } from '../attachments/attached-files.service.js';
import { ConversationHooks } from '../hooks/conversation-hooks.js';
import type { AgentCandidates, AgentPreset, ChosenAgent } from '../input/agent.js';
import { type ChatInput, toChatInput } from '../input/chat-input.js';
import type { LoopLimits } from '../loop/loop-step.js';
import { maxRestartsPerRound, withRoundLimit } from '../loop/round-limit.js';
import { toChosen } from './agent-choice.js';
import { agentGone } from './agents.errors.js';
import { AgentsRepository } from './agents.repository.js';
import { applyAgent, tightened } from './apply-agent.js';
import { type RoutedToAgent, routeToAgent, ROUTING_ROUND } from './route-to-agent.js';

/** The chosen agent, and how it was chosen. */
interface MadeChoice {
  readonly chosen: ChosenAgent;
  readonly round: RoutedToAgent['round'];
  /** The reason that the model gave. Empty if it gave none, or chose no agent. */
  readonly reasoning: string;
  /** The model chose no agent, so the default agent is used. */
  readonly isFallback: boolean;
  readonly modelName: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
}

/**
 * The write that stores the choice of an agent: a routing round with the choice, and the event. The model's text is not content, and the
 * round belongs to no node run and no conversation. Pure.
 */
function routingWrite(job: { readonly workspaceId: string; readonly jobId: string }, made: MadeChoice): RunWrite {
  const { chosen, round, reasoning, isFallback, modelName: model, startedAt } = made;
  const { promptTokens, completionTokens, totalTokens, estimated: usageEstimated } = round.usage;
  const { id: agent, version, name, slug } = chosen;
  const row = roundRow(job, {
    ...{ number: ROUTING_ROUND, nodeRun: NO_NODE, branch: 'agent', model, startedAt },
    ...{ text: '', reasoning: '', finishReason: round.finishReason, partial: false },
    ...{ promptTokens, completionTokens, usageEstimated },
    captured: JSON.stringify({ ...chosen, reasoning, fallback: isFallback }),
  });
  return {
    rows: [row],
    events: [
      {
        type: 'agent-selected',
        body: {
          ...{ agent, version, name, slug, reasoning, fallback: isFallback },
          usage: { promptTokens, completionTokens, totalTokens },
          ...(usageEstimated ? { usageEstimated } : {}),
        },
      },
    ],
    counts: { promptTokens, completionTokens },
    progress: true,
  };
}

function usageOf({ promptTokens, completionTokens }: ModelUsage): RunWrite {
  return { counts: { promptTokens, completionTokens } };
}

/** The node run of the routing round: node runs count from 1, so it belongs to none. */
const NO_NODE = 0;

/** The agent of a job, and the job's input with the agent applied. */
export interface Acting {
  /** Null if the job has no agent. */
  readonly agent: AgentPreset | null;
  readonly input: ChatInput;
}

/** The agents of running jobs: reads the pinned one, or chooses one, once per job. */
@Injectable()
export class ActingAgents {
  constructor(
    private readonly agents: AgentsRepository,
    private readonly models: ModelCatalog,
    private readonly config: Config,
    private readonly attached: AttachedFiles,
    private readonly hooks: ConversationHooks,
  ) {}

  /**
   * The agent of a job. A choice is committed with its event before the job uses it, so it is made only once, even if the job begins several
   * times. Throws `agent_gone`, and the errors of a model call.
   */
  async of(run: JobRun): Promise<Acting> {
    const input = toChatInput(run.job.input);
    const { agent: pinned, routing } = input;
    if (pinned === undefined && routing === undefined) return { agent: null, input };
    const agent = pinned === undefined ? await this.chosen(run, input, routing) : await this.load(run.job, pinned);
    // A direct call must be one that the agent may make. No model runs, so the agent's tools need not be offered.
    return { agent, input: input.call === undefined ? applyAgent(input, agent) : input };
  }

  /** The model that the agent uses. Throws the errors of `ModelCatalog`. */
  async modelOf(
    job: ClaimedJob,
    agent: AgentPreset | null,
  ): Promise<{ readonly model: Model; readonly modelName: string }> {
    const { model, modelName } = await this.models.modelOf({ ...job, model: agent?.model ?? job.model });
    const limitMs = Math.min(this.config.values.ROUND_TIMEOUT_MS, agent?.limits.roundTimeoutMs ?? Infinity);
    const readable = this.attached.readable(model, { workspaceId: job.workspaceId, modelName });
    return { model: withRoundLimit(readable, limitMs), modelName };
  }

  /** The installation's limits of a conversation, tightened by the limits of the agent and by `maxRounds`. */
  limitsOf(agent: Pick<AgentPreset, 'limits'> | null, maxRounds = Infinity): LoopLimits {
    const { MAX_ROUNDS, MAX_TOOL_CALLS_PER_ROUND, MAX_OUTPUT_BYTES } = this.config.values;
    const limits = {
      maxRounds: Math.min(MAX_ROUNDS, maxRounds),
      maxToolCallsPerRound: MAX_TOOL_CALLS_PER_ROUND,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      maxRestartsPerRound,
    };
    return tightened(limits, agent);
  }

  private async chosen(run: JobRun, input: ChatInput, routing: AgentCandidates | undefined): Promise<AgentPreset> {
    const { workspaceId, jobId } = run.job;
    const before = await this.agents.chosen(workspaceId, jobId);
    if (before !== null) return this.load(run.job, before);
    const candidates = await this.agents.pinned(workspaceId, routing?.candidates ?? []);
    const startedAt = systemClock.now();
    const { model, modelName } = await this.modelOf(run.job, null);
    run.assertValid();
    const limits = { ...this.limitsOf(null), maxRounds: 1 };
    const hooked = this.hooks.of(run, null).modelOf({ model, modelName, limits });
    const { signal } = run;
    const keepEvents = () => {
      if (hooked !== null) run.append({ events: hooked.takeEvents() });
    };
    const { round, choice } = await routeToAgent({
      ...{ model: hooked ?? model, modelName, candidates, messages: input.messages, limits, signal },
    }).catch((error: unknown) => {
      if (!signal.aborted && !isProviderDown(error)) keepEvents(); // written with the error of the job
      const usage = hooked?.takeUsage() ?? null;
      if (usage !== null) run.append(usageOf(usage));
      throw error;
    });
    keepEvents(); // written with the choice
    crashpoint('after-routing-answer');
    const agent = choice?.agent ?? candidates.find(({ id }) => id === routing?.fallback);
    if (agent === undefined) {
      run.append(usageOf(round.usage));
      throw agentGone();
    }
    const { reasoning = '' } = choice ?? {};
    const how = { round, reasoning, isFallback: choice === null, modelName, startedAt };
    await run.commit(routingWrite(run.job, { chosen: toChosen(agent), ...how }));
    crashpoint('after-routing-commit');
    return agent;
  }

  private async load({ workspaceId }: ClaimedJob, pin: ChosenAgent): Promise<AgentPreset> {
    const [agent] = await this.agents.pinned(workspaceId, [pin]);
    if (agent === undefined) throw agentGone();
    return agent;
  }
}
