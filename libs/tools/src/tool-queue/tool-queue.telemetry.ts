import { Inject, Injectable } from '@nestjs/common';

import { Config, LOGGER, type Logger, Metrics } from '#platform';

import { ToolMessagesRepository } from './tool-messages.repository.js';

type Depths = Awaited<ReturnType<ToolMessagesRepository['depths']>>;

/** Metrics of the isolated tool queue for operators. */
@Injectable()
export class ToolQueueTelemetry {
  private asked: Promise<Depths> | undefined;
  readonly running;
  readonly answered;
  readonly resent;

  constructor(
    metrics: Metrics,
    @Inject(LOGGER) readonly logger: Logger,
    @Inject(ToolMessagesRepository) messages: Pick<ToolMessagesRepository, 'depths'>,
    config: Config,
  ) {
    this.running = metrics.gauge('nightshift_tool_queue_running', 'Calls of isolated tools this process runs');
    this.answered = metrics.counter(
      'nightshift_tool_queue_answers_total',
      'Calls of isolated tools run, by how they ended',
      ['status'],
    );
    this.resent = metrics.counter(
      'nightshift_tool_queue_resent_total',
      'Calls sent again to the isolated queue, by why',
      ['why'],
    );
    const counted = (name: string, help: string, count: (depths: Depths) => number) => {
      metrics.gaugeOnScrape(name, help, {
        labelNames: [],
        fill: async (gauge) => {
          gauge.set(count(await this.depths(messages)));
        },
      });
    };
    counted('tool_queue_depth', 'Requests for isolated tools that wait', ({ waiting }) => waiting);
    counted(
      'tool_queue_age_seconds',
      'How long the oldest request for an isolated tool has waited',
      ({ oldestMs }) => oldestMs / 1_000,
    );
    // The login of role tools does not see them.
    if (config.values.ROLE !== 'tools')
      counted('tool_queue_dead', 'Dead letters of the isolated tool queue', ({ dead }) => dead);
  }

  /** The gauges of one scrape are filled side by side, and share one question. */
  private depths(messages: Pick<ToolMessagesRepository, 'depths'>): Promise<Depths> {
    this.asked ??= messages.depths().finally(() => {
      this.asked = undefined;
    });
    return this.asked;
  }
}
