import { Inject, Injectable } from '@nestjs/common';

import { Config, LOGGER, type Logger, Metrics, Queues, TOOL_QUEUES } from '#platform';

import { QueuedCallsRepository } from './queued-calls.repository.js';

type Depth = Awaited<ReturnType<QueuedCallsRepository['depth']>>;

/** Metrics of the tool queue for operators. */
@Injectable()
export class ToolQueueTelemetry {
  private asked: Promise<Depth> | undefined;
  readonly running;
  readonly answered;
  readonly resent;

  constructor(
    metrics: Metrics,
    @Inject(LOGGER) readonly logger: Logger,
    @Inject(QueuedCallsRepository) calls: Pick<QueuedCallsRepository, 'depth'>,
    @Inject(Queues) queues: Pick<Queues, 'count'>,
    config: Config,
  ) {
    this.running = metrics.gauge('nightshift_tool_queue_running', 'Calls of isolated tools that this process runs');
    this.answered = metrics.counter(
      'nightshift_tool_queue_answers_total',
      'Results that this process sent for calls of isolated tools, by status',
      ['status'],
    );
    this.resent = metrics.counter(
      'nightshift_tool_queue_resent_total',
      'Calls that were sent again to the tool queue, by reason',
      ['why'],
    );
    const counted = (name: string, help: string, count: () => Promise<number>) => {
      metrics.gaugeOnScrape(name, help, {
        labelNames: [],
        fill: async (gauge) => {
          gauge.set(await count());
        },
      });
    };
    counted(
      'tool_queue_depth',
      'Calls of isolated tools that no process has claimed',
      async () => (await this.depth(calls)).waiting,
    );
    counted(
      'tool_queue_age_seconds',
      'How long the oldest unclaimed call of an isolated tool has waited',
      async () => (await this.depth(calls)).oldestMs / 1_000,
    );
    // The database login of role tools cannot read the data of these gauges.
    if (config.values.ROLE !== 'tools')
      counted('tool_queue_dead', 'Dead letters of the tool queue, as of at most a minute ago', () =>
        queues.count(TOOL_QUEUES.dead),
      );
  }

  /** The gauges of one scrape are filled concurrently and share one query. */
  private depth(calls: Pick<QueuedCallsRepository, 'depth'>): Promise<Depth> {
    this.asked ??= calls.depth().finally(() => {
      this.asked = undefined;
    });
    return this.asked;
  }
}
