import { Injectable } from '@nestjs/common';

import { NodeConversations } from '#chat';
import {
  endsJob,
  endsWith,
  type JobHandler,
  type JobOutcome,
  type JobRun,
  type NewJobEvent,
  roundRow,
  type RunWrite,
} from '#jobs';
import { crashpoint, defined } from '#platform';
import type { ClientSide } from '#tools';

import { toWorkflowInput } from '../definitions/workflow-input.js';
import { isTransientCode } from '../engine/node-run.js';
import type { RunResult } from '../engine/run-command.js';
import { WorkflowRun } from '../engine/workflow-run.js';
import type { LeaseContext } from './lease-context.js';
import { NodeQuestions } from './node-questions.js';
import { type Awaited, NodeRunsRepository } from './node-runs.repository.js';
import { NodeServices } from './node-services.js';
import { RunBudget } from './run-budget.js';
import { RunFacts, type ShownContent } from './run-facts.js';
import { RunPlanLoader } from './run-plan-loader.js';
import { WorkflowInstance } from './workflow-instance.js';
import { WorkflowRunner } from './workflow-runner.js';

/** The result of opening a run, which the caller must end. */
interface Opened {
  context?: LeaseContext;
}

const now = (): number => Date.now();

/** Rebuilds the run from its plan and rows, runs it until it ends or waits, and commits the outcome. */
@Injectable()
export class WorkflowHandler implements JobHandler {
  readonly kind = 'workflow';
  /**
   * When this worker first called the handler for a run (ms since the epoch). The handler is called again if a decision or a result arrives just
   * before the job would wait.
   */
  private readonly enteredAt = new WeakMap<JobRun, number>();

  constructor(
    private readonly plans: RunPlanLoader,
    private readonly stored: NodeRunsRepository,
    private readonly conversations: NodeConversations,
    private readonly services: NodeServices,
    private readonly instance: WorkflowInstance,
  ) {}

  async run(run: JobRun): Promise<JobOutcome> {
    const opened: Opened = {};
    try {
      return await this.proceed(run, opened);
    } catch (error) {
      // Close open requests and keep the shown text.
      if (endsWith(run, error)) {
        await this.conversations.closeAll(run);
        if (opened.context !== undefined) await this.keepContent(opened.context);
      }
      throw error;
    }
  }

  private async proceed(run: JobRun, opened: Opened): Promise<JobOutcome> {
    const input = toWorkflowInput(run.job.input);
    const { toolPins, toolApproval, callerPolicies = [], providerDown } = input;
    const agents = await this.plans.agentsOf(run, input);
    const acting = Object.fromEntries(agents);
    const options = {
      ...{ toolPins, agents: acting, callerPolicies },
      ...defined({ toolApproval, providerDown }),
    };
    const isFirstLook = run.job.epoch === 1 && !this.enteredAt.has(run);
    const enteredAt = this.enteredAt.get(run) ?? now();
    this.enteredAt.set(run, enteredAt);
    const [stored, conversations] = await Promise.all([
      isFirstLook ? { nodeRuns: [], questions: [], published: [] } : this.stored.load(run.job),
      this.conversations.open(run, { ...options, ...this.clientOf(run) }),
    ]);
    const questions = new NodeQuestions(run);
    questions.load(stored.questions);
    const pinned = await this.plans.planFor(run, input, agents);
    const facts = new RunFacts(now);
    facts.load(stored.nodeRuns, stored.published);
    if (run.contentLength > 0) facts.loseContent();
    const { WORKFLOW_PAUSE_MS: pauseMs, MODEL_CONTEXT_TOKENS: contextTokens } = this.instance.config.values;
    const context: LeaseContext = { run, conversations, questions, services: this.services, facts, contextTokens };
    opened.context = context;
    const { stopPolicy } = pinned.graph;
    const { spending, refresh } = await this.instance.spendingOf(run, stopPolicy, { facts, isFirstLook });
    const workedMs = this.workedMs(run);
    const budget = new RunBudget(stopPolicy, run, { questions, spending, workedMs, enteredAt, now });
    const plan = { ...pinned, maxSteps: budget.maxSteps };
    const engine = new WorkflowRun(plan, stored.nodeRuns);
    const answersTo = async (awaited: Awaited) => {
      await refresh();
      return this.stored.answersTo(run.job, awaited);
    };
    const outcome = await new WorkflowRunner({ engine, context, plan, budget, pauseMs, answersTo }).drive();
    if (outcome.type !== 'ended') {
      return outcome.type === 'released'
        ? { status: 'released' }
        : { status: 'waiting', interruptIds: outcome.interruptIds };
    }
    // Includes requests of nodes that were cancelled just before a crash.
    if (!outcome.result.success || outcome.gaveUp || !isFirstLook) await conversations.closeAll();
    return this.end(context, outcome.result);
  }

  private async end(context: LeaseContext, result: RunResult): Promise<JobOutcome> {
    const { run, conversations, facts } = context;
    const { success, finalOutput, error } = result;
    if (!success) {
      await this.keepContent(context);
      const { code = 'workflow_failed', message = 'Workflow cancelled' } = error ?? {};
      return { status: 'failed', code, message, retryable: isTransientCode(code) };
    }
    const { MAX_OUTPUT_BYTES } = this.instance.config.values;
    if (Buffer.byteLength(finalOutput) > MAX_OUTPUT_BYTES) {
      await this.keepContent(context);
      return outputLimit(MAX_OUTPUT_BYTES);
    }
    const { text: shown, reasoning } = await this.contentOf(run, facts);
    crashpoint('before-final-output');
    const round = conversations.takeRound();
    run.append(
      finalContent(run, { text: finalOutput, reasoning, round, isShown: shown === finalOutput, startedAt: now() }),
    );
    return { status: 'completed', reason: 'stop' };
  }

  /** Stores the content that viewers saw, unless another worker continues the run. */
  private async keepContent({ run, conversations, facts }: LeaseContext): Promise<void> {
    const { text, reasoning } = await this.contentOf(run, facts);
    const isOver = !run.signal.aborted || endsJob(run.signal.reason);
    if ((text !== '' || reasoning !== '') && isOver)
      run.append(keptContent(run, { text, reasoning, round: conversations.takeRound(), startedAt: now() }));
  }

  /** The exact text; after a restart only the log contains it. */
  private async contentOf(run: JobRun, { shown }: RunFacts): Promise<ShownContent> {
    if (shown !== null) return shown;
    await run.commit();
    return this.stored.contentOf(run.job);
  }

  /** Any client of the requester may run client-side tools. */
  private clientOf({ job }: JobRun): { readonly client?: ClientSide } {
    const mayServe = this.instance.config.values.FEATURE_CLIENT_TOOLS && job.createdBy !== null;
    return mayServe ? { client: { deviceId: null, tools: {} } } : {};
  }

  private workedMs({ job }: JobRun): number {
    return Math.max(0, this.instance.config.values.JOB_TIMEOUT_MS - job.remainingMs);
  }
}

function outputLimit(bytes: number): JobOutcome {
  return { status: 'failed', code: 'OUTPUT_LIMIT', message: `The final output is longer than ${bytes} bytes` };
}

interface FinalContent {
  readonly text: string;
  /** The reasoning shown with it. */
  readonly reasoning: string;
  /** The number of the round that stores it; no other round of the job has it. */
  readonly round: number;
  /** Whether the streamed content equals this text. */
  readonly isShown: boolean;
  readonly startedAt: number;
}

/**
 * The content of a finished workflow job is its final output, stored as a round that belongs to no node. If viewers saw another text (several
 * leaves, or a node that only combines texts), that text is withdrawn first. Reads `run`, and is otherwise pure.
 */
function finalContent(run: JobRun, { text, reasoning, round, isShown, startedAt }: FinalContent): RunWrite {
  const isWithdrawn = !isShown && run.contentLength > 0;
  const row = roundRow(run.job, {
    ...{ number: round, model: '', text, reasoning: isWithdrawn ? '' : reasoning },
    ...{ finishReason: 'stop', partial: false },
    ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt },
  });
  const withdrawal: NewJobEvent = {
    type: 'round-restarted',
    body: { round, reason: 'final_output', contentLength: 0, reasoningLength: 0 },
  };
  const delta: NewJobEvent = { type: 'text-delta', body: { round, offset: 0, text } };
  return {
    rows: [row],
    events: [...(isWithdrawn ? [withdrawal] : []), ...(isShown || text === '' ? [] : [delta])],
    counts: { restarts: isWithdrawn ? 1 : 0, contentLength: text.length - run.totals.contentLength },
  };
}

/** The content that viewers saw of a job that ends early is kept as a round that belongs to no node, without a new event. */
function keptContent(run: JobRun, { text, reasoning, round, startedAt }: Omit<FinalContent, 'isShown'>): RunWrite {
  const row = roundRow(run.job, {
    ...{ number: round, model: '', text, reasoning, finishReason: 'interrupted', partial: true },
    ...{ promptTokens: 0, completionTokens: 0, usageEstimated: false, startedAt },
  });
  return { rows: [row], counts: { contentLength: text.length - run.totals.contentLength } };
}
