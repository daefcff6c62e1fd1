import { Inject, Injectable } from '@nestjs/common';

import { isJobStatus, isTerminal } from '#jobs';
import { BUS, type Bus, type Clock, processName, systemClock, type Timer } from '#platform';

import { CallRunner } from './call-runner.js';
import { DeadLetters } from './dead-letters.js';
import { ExecClaimsRepository, type WantedCall } from './exec-claims.repository.js';
import { readRequest } from './queue-message.js';
import { type TakenMessage, ToolMessagesRepository } from './tool-messages.repository.js';

/** How often to poll in case every hint is lost. */
const pollMs = 1_000;

/**
 * Takes calls of isolated tools as long as there is room for them. It hears of them by bus hint (milliseconds) or by looking
 * (a second); a message names a call that may be due, and only the claim on the ledger's row decides.
 */
@Injectable()
export class ToolWorker {
  /** Names this process on the calls it holds. */
  readonly owner = processName();
  private readonly clock: Clock = systemClock;
  private unsubscribe: (() => void)[] = [];
  private timer: Timer | undefined;
  private taking: Promise<void> | undefined;
  private state: 'idle' | 'taking' | 'stopping' = 'idle';
  private lookAgain = false;

  constructor(
    private readonly messages: ToolMessagesRepository,
    private readonly claims: ExecClaimsRepository,
    private readonly runner: CallRunner,
    @Inject(BUS) private readonly bus: Bus,
    private readonly dead: DeadLetters,
  ) {}

  start(): void {
    if (this.state !== 'idle') return;
    this.state = 'taking';
    this.runner.onRoom = () => {
      this.look();
    };
    this.unsubscribe = [
      this.bus.subscribe('tool-queue', ({ queue }) => {
        if (queue === 'requests') this.look();
      }),
      this.bus.subscribe('tool-cancel', ({ toolCallId }) => {
        this.runner.recheck(({ id }) => id === toolCallId);
      }),
      this.bus.subscribe('job-events', ({ jobId, status }) => {
        if (status === undefined || !isJobStatus(status) || !isTerminal(status)) return;
        this.runner.recheck((call) => call.jobId === jobId);
      }),
      this.bus.onGap(() => {
        this.runner.recheck(() => true);
        this.look();
      }),
    ];
    this.look();
  }

  /** Takes no more calls from this moment; those that run have `graceMs` to end. Resolves when none of them is left here. */
  async stop(graceMs: number): Promise<void> {
    this.state = 'stopping';
    for (const off of this.unsubscribe.splice(0)) off();
    this.timer?.cancel();
    await this.taking;
    await this.runner.drain(graceMs);
  }

  private look(): void {
    if (this.state !== 'taking') return;
    if (this.taking !== undefined) {
      this.lookAgain = true;
      return;
    }
    this.timer?.cancel();
    this.taking = this.takeAll()
      .catch((error: unknown) => {
        this.runner.telemetry.logger.warn({ err: error }, 'taking tool calls failed; trying again');
      })
      .finally(() => {
        this.taking = undefined;
        if (this.lookAgain) this.look();
        else this.lookLater();
      });
  }

  private lookLater(): void {
    if (this.state !== 'taking') return;
    this.timer = this.clock.after(pollMs * (0.75 + Math.random() / 2), () => {
      this.look();
    });
  }

  /** As many as there is room for, and no more: what this process cannot run now is left to others. */
  private async takeAll(): Promise<void> {
    this.lookAgain = false;
    while (this.state === 'taking') {
      const { room, busyTools, busyWorkspaces } = this.runner.slots;
      if (room <= 0) return;
      const taken = await this.messages.takeRequests({ limit: room, busyTools, busyWorkspaces });
      if (taken.length === 0) return;
      const claimedAt = this.clock.monotonic();
      const wanted = await this.readAll(taken);
      for (const call of await this.claims.claim(wanted, this.owner)) this.runner.begin(call, claimedAt);
    }
  }

  private async readAll(taken: readonly TakenMessage[]): Promise<WantedCall[]> {
    const wanted: WantedCall[] = [];
    for (const message of taken) {
      const request = readRequest(message.data);
      if (request === null) await this.dead.bury(message.data, 'unreadable');
      else {
        const { workspace_id: workspaceId, job_id: jobId, correlation_id: id } = request;
        if (request.type === 'cancel_request') this.bus.publish('tool-cancel', { workspaceId, jobId, toolCallId: id });
        else wanted.push({ workspaceId, jobId, id, ttlMs: request.metadata.ttl_ms });
      }
    }
    return wanted;
  }
}
