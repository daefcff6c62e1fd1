import { Inject, Injectable } from '@nestjs/common';

import { AppError, BUS, type Bus, type Clock, systemClock, type Timer } from '#platform';

import { DeadLetters } from './dead-letters.js';
import { readResult } from './queue-message.js';
import { ResultApplier } from './result-applier.js';
import { type MessageFate, type TakenMessage, ToolMessagesRepository } from './tool-messages.repository.js';
import { ToolQueueTelemetry } from './tool-queue.telemetry.js';

const pollMs = 1_000;
const batch = 50;
/** A message that cannot be applied is tried again for this long. */
const timeoutMs = 30_000;
const retryMs = 1_000;

/** Reads what tool processes send back; runs in every process that runs jobs. */
@Injectable()
export class ToolResults {
  private readonly clock: Clock = systemClock;
  private unsubscribe: () => void = () => undefined;
  private timer: Timer | undefined;
  private reading: Promise<void> | undefined;
  private isStarted = false;
  private lookAgain = false;

  constructor(
    private readonly messages: ToolMessagesRepository,
    private readonly applier: ResultApplier,
    private readonly dead: DeadLetters,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: ToolQueueTelemetry,
  ) {}

  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.unsubscribe = this.bus.subscribe('tool-queue', ({ queue }) => {
      if (queue === 'results') this.look();
    });
    this.look();
  }

  async stop(): Promise<void> {
    this.isStarted = false;
    this.unsubscribe();
    this.timer?.cancel();
    await this.reading;
  }

  private look(): void {
    if (!this.isStarted) return;
    if (this.reading !== undefined) {
      this.lookAgain = true;
      return;
    }
    this.timer?.cancel();
    this.reading = this.readAll()
      .then(
        (soonestMs) => soonestMs,
        (error: unknown) => {
          this.telemetry.logger.warn({ err: error }, 'reading tool results failed; trying again');
          return pollMs;
        },
      )
      .then((nextMs) => {
        this.reading = undefined;
        if (this.lookAgain) this.look();
        else this.lookLater(nextMs);
      });
  }

  private lookLater(delayMs: number): void {
    if (!this.isStarted) return;
    this.timer = this.clock.after(delayMs * (0.75 + Math.random() / 2), () => {
      this.look();
    });
  }

  /** Applies the queued results, and returns after how many ms to look again. */
  private async readAll(): Promise<number> {
    this.lookAgain = false;
    let soonestMs = pollMs;
    const apply = async (message: TakenMessage): Promise<MessageFate> => {
      const fate = await this.apply(message);
      if (fate !== 'done') soonestMs = Math.min(soonestMs, fate.againInMs);
      return fate;
    };
    while (this.isStarted && (await this.messages.applyResults(batch, apply)) === batch);
    return soonestMs;
  }

  private async apply({ data, ageMs }: TakenMessage): Promise<MessageFate> {
    const message = readResult(data);
    if (message === null) {
      await this.dead.bury(data, 'unreadable');
      return 'done';
    }
    try {
      const applied = await this.applier.apply({ message, ageMs });
      if (applied !== 'unknown') return applied;
      // Jobs are deleted after a while; a response to a deleted job belongs to no workspace.
      if (message.type === 'tool_response') await this.dead.bury(data, 'unknown_call');
      return 'done';
    } catch (error) {
      if (error instanceof AppError && error.code === 'unavailable') throw error;
      return this.failed(data, ageMs, error);
    }
  }

  /** One message's trouble is its own. The call it is about follows its effect once its claim runs out. */
  private async failed(data: unknown, ageMs: number, error: unknown): Promise<MessageFate> {
    this.telemetry.logger.error({ err: error, ageMs }, 'a tool result was not applied');
    if (ageMs < timeoutMs) return { againInMs: retryMs };
    await this.dead.bury(data, 'not_applied');
    return 'done';
  }
}
