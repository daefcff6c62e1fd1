import { Injectable } from '@nestjs/common';

import { type JobHandler, type JobOutcome, type JobRun } from '#jobs';
import { ModelCatalog } from '#models';
import { Config } from '#platform';
import { resolveOffered, ToolRegistry } from '#tools';

import { type ChatInput, toChatInput } from './chat-input.js';
import { ChatSession } from './chat-session.js';
import { buildHistory } from './history/build-history.js';
import { type Conversation, ConversationRepository } from './history/conversation.repository.js';
import { repairConversation } from './history/repair-conversation.js';
import type { LoopInput } from './loop/loop-step.js';
import { toLoopRounds } from './loop/to-loop-rounds.js';
import { withRoundLimit } from './round-limit.js';
import { ToolRunner } from './tool-runner.js';

const maxRestartsPerRound = 2;

/** Answers in a thread: rebuilds what there is from rows, drives the loop, and writes down what it says. */
@Injectable()
export class ChatHandler implements JobHandler {
  readonly kind = 'chat';

  constructor(
    private readonly conversations: ConversationRepository,
    private readonly models: ModelCatalog,
    private readonly registry: ToolRegistry,
    private readonly tools: ToolRunner,
    private readonly config: Config,
  ) {}

  async run(run: JobRun): Promise<JobOutcome> {
    const input = toChatInput(run.job.input);
    const conversation = await this.conversations.load(run.job);
    const session = new ChatSession(run, this.tools, conversation);
    let loop: LoopInput;
    try {
      loop = await this.loopInput(run, input, conversation);
    } catch (error) {
      session.abandon();
      throw error;
    }
    return session.answer(loop);
  }

  private async loopInput(run: JobRun, input: ChatInput, conversation: Conversation): Promise<LoopInput> {
    const { values } = this.config;
    const { job } = run;
    const { model, modelName } = await this.models.modelOf(job);
    const messages = input.history === 'request' ? input.messages : this.historyOf(input, conversation);
    return {
      model: withRoundLimit(model, values.ROUND_TIMEOUT_MS),
      modelName,
      ...(input.parameters === undefined ? {} : { parameters: input.parameters }),
      ...(input.toolChoice === undefined ? {} : { toolChoice: input.toolChoice }),
      messages: repairConversation(messages),
      rounds: toLoopRounds(conversation.rounds, conversation.calls),
      offered: this.offered(input),
      limits: {
        maxRounds: values.MAX_ROUNDS,
        maxToolCallsPerRound: values.MAX_TOOL_CALLS_PER_ROUND,
        maxOutputBytes: values.MAX_OUTPUT_BYTES,
        maxRestartsPerRound,
      },
      signal: run.signal,
    };
  }

  /** A question that is asked again stands in the thread already; the answer that was given up does not help. */
  private historyOf({ retryOf }: ChatInput, { messages, jobs }: Conversation) {
    return buildHistory(retryOf === undefined ? messages : messages.filter(({ jobId }) => jobId !== retryOf), jobs);
  }

  private offered(input: ChatInput): LoopInput['offered'] {
    const definitions = input.tools.flatMap((tool) => {
      const definition = typeof tool === 'string' ? this.registry.definitionOf(tool) : tool;
      return definition === undefined ? [] : [definition];
    });
    return resolveOffered(definitions, this.registry, input.toolRuntimes);
  }
}
