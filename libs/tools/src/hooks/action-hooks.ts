import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { HookedEnd, HookedInterrupt, HookedJob, HookedNotification, HookEvents } from '@nightshift/plugin';

import {
  type ActionJob,
  ActionRowsRepository,
  EventActions,
  type Interrupt,
  isTerminal,
  type JobNotification,
} from '#jobs';
import {
  DEAD_ACTIONS,
  type Delivery,
  type Handled,
  handleEvery,
  idFrom,
  LOGGER,
  type Logger,
  Metrics,
  ParallelHandlers,
  Queues,
  QueueWorker,
  systemClock,
} from '#platform';

import { type ActionEvent, Hooks } from './hooks.js';

/** Actions that a worker runs at once, and runs of one hook at once in the whole installation. */
const [slots, groupConcurrency] = [10, { default: 5 }];
/** Ms; actions that still run this long after the worker began to stop are aborted, and run again in another process. */
const stopMs = 5_000;
/** Ms between looks for messages of killed processes. pg-boss by itself looks once a minute. */
const lostEveryMs = 10_000;
/** `retryLimit` of the queue. */
const maxRetries = 5;

type ActionDelivery = Delivery<'hook.action'>;

/** An event with the id of its row. */
interface Found<On extends ActionEvent> {
  readonly event: HookEvents[On];
  readonly rowId: string;
}

/** Counts dead letters at each scrape. */
export function registerDeadLetterGauge(metrics: Metrics, queues: Pick<Queues, 'count'>): void {
  metrics.gaugeOnScrape('nightshift_hook_dead_letters', 'Dead letters of action hooks, as of at most a minute ago', {
    labelNames: [],
    fill: async (gauge) => {
      gauge.set(await queues.count(DEAD_ACTIONS));
    },
  });
}

/**
 * Runs the actions of plugins. The statement that writes an event sends a queue message for each action of its process, and a worker handles
 * the message: it reads the row and runs the hook. A process without actions sends and handles no messages.
 */
@Injectable()
export class ActionHooks extends QueueWorker implements OnModuleInit {
  private readonly handlers: ParallelHandlers<'hook.action'>;
  private stopping = new AbortController();

  constructor(
    private readonly hooks: Hooks,
    private readonly actions: EventActions,
    private readonly rows: ActionRowsRepository,
    private readonly queues: Queues,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {
    super();
    const options = { queue: 'hook.action', slots, groupConcurrency } as const;
    this.handlers = new ParallelHandlers(queues, options, (message) => this.handle(message));
  }

  onModuleInit(): void {
    const { actions } = this.hooks;
    if (actions.length === 0) return;
    this.actions.register(actions);
    registerDeadLetterGauge(this.metrics, this.queues);
  }

  protected async open() {
    if (this.hooks.actions.length === 0) return [];
    this.stopping = new AbortController();
    await this.handlers.start();
    const period = { queue: 'maintenance.hook-actions', everyMs: lostEveryMs } as const;
    return [this.handlers, await handleEvery(this.queues, period, () => this.queues.superviseNow('hook.action'))];
  }

  /** Resolves when no action is running: after at most 5 s, unless an action blocks the process. */
  override async stop(): Promise<void> {
    const { stopping } = this;
    const timer = systemClock.after(stopMs, () => {
      stopping.abort(new Error('the worker stops'));
    });
    await super.stop();
    timer.cancel();
  }

  /** Rejects to have the message retried; after the last retry it becomes a dead letter. */
  private async handle(message: ActionDelivery): Promise<Handled> {
    const { workspaceId, jobId, on, hook } = message.data;
    try {
      const found = await this.find(message.data);
      if (found !== null) await this.act(message, found);
      return 'completed';
    } catch (error) {
      if (message.retryCount >= maxRetries)
        this.logger.error(
          { err: error, hook, on, workspaceId, jobId, message: message.id },
          'an action of a hook failed for good and is a dead letter',
        );
      throw error;
    }
  }

  private async act({ data: { on, hook }, retryCount }: ActionDelivery, { event, rowId }: Found<ActionEvent>) {
    const idempotencyKey = idFrom('action', hook, on, rowId);
    const run = { event, idempotencyKey, attempt: retryCount + 1, signal: this.stopping.signal };
    const outcome = await this.hooks.act(on, hook, run);
    if (outcome === 'missing') throw new Error(`no plugin of this worker has the hook "${hook}"`);
  }

  /** Null: the row does not exist, or does not exist any more. */
  private async find(data: ActionDelivery['data']): Promise<Found<ActionEvent> | null> {
    const { workspaceId, jobId, interruptId, on } = data;
    const row = await this.rows.job({ workspaceId, jobId });
    if (row === null) return null;
    if (on === 'onJobFinished') {
      const job = toHookedEnd(row);
      return job === null ? null : { event: { ...(await this.jobOf(data, row)), job }, rowId: jobId };
    }
    if (on === 'onNotification') {
      const about = await this.rows.notification({ workspaceId, jobId }, interruptId);
      if (about === null) return null;
      const notification = toHookedNotification(about);
      return { event: { ...(await this.jobOf(data, row)), notification }, rowId: about.id };
    }
    const opened = interruptId === null ? null : await this.rows.interrupt(workspaceId, interruptId);
    if (opened === null) return null;
    return { event: { ...(await this.jobOf(data, row)), interrupt: toHookedInterrupt(opened) }, rowId: opened.id };
  }

  private async jobOf({ workspaceId, jobId }: ActionDelivery['data'], row: ActionJob): Promise<HookedJob> {
    const { threadId, principal, kind, agent, workflowId: workflow, labels } = row;
    const userId = await this.hooks.userIdOf(workspaceId, principal);
    return { workspaceId, jobId, threadId, principal, userId, kind, agent, workflow, labels };
  }
}

/** The end of a job in the format of hooks; null: the job has not ended. */
function toHookedEnd(job: ActionJob): HookedEnd | null {
  const { status, finishedAt, reason, error, parentJobId, model, rounds, toolCalls } = job;
  if (!isTerminal(status) || finishedAt === null) return null;
  const { promptTokens, completionTokens, createdAt, startedAt } = job;
  return {
    ...{ status, reason, error, parentJobId, model, rounds, toolCalls, promptTokens, completionTokens },
    ...{ createdAt, startedAt, finishedAt },
  };
}

function toHookedInterrupt(interrupt: Interrupt): HookedInterrupt {
  const { id, kind, status, title, request, callId, tool, nodeId, rootJobId, createdAt, expiresAt } = interrupt;
  return { id, kind, status, title, request, callId, tool, nodeId, rootJobId, createdAt, expiresAt };
}

function toHookedNotification(notification: JobNotification): HookedNotification {
  const { id, type, userId, rootJobId, threadId, threadName, interruptId, title, createdAt, readAt } = notification;
  return { id, type, userId, rootJobId, threadId, threadName, interruptId, title, createdAt, readAt };
}
