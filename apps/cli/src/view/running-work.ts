import type { JobEvent, JobEventOf } from '@nightshift/client';

import { formatDuration } from '../format/duration.js';
import { oneLine } from '../terminal/plain-text.js';
import { type EventTable, lookUp } from './event-table.js';
import { isSettled, type ToolCallState } from './show-tool-call.js';

interface Running {
  readonly name: string;
  readonly since: number;
  progress: string;
}

const MAX_TAIL_LENGTH = 60;

/** What a job is doing at the moment, for the status line. */
export class RunningWork {
  private readonly calls = new Map<string, Running>();
  private readonly nodes = new Map<string, Running>();
  private readonly requests = new Map<string, string>();
  private phase = 'queued';
  private since: number;
  private tail = '';
  private readonly changes: EventTable<void> = {
    JobQueuedEvent: ({ queuePosition: place }) => {
      this.enter(place === null ? 'queued' : `queued, number ${place} in its thread`);
    },
    JobStartedEvent: () => {
      this.enter('started');
    },
    JobRequeuedEvent: () => {
      this.enter('queued again');
    },
    RoundStartedEvent: ({ model }) => {
      this.enter(`${oneLine(model)} is thinking`);
    },
    TextDeltaEvent: ({ text }) => {
      this.write(text);
    },
    ReasoningDeltaEvent: ({ text }) => {
      this.write(text);
    },
    NodeStartedEvent: ({ nodeRunId, label }) => {
      this.nodes.set(nodeRunId, { name: oneLine(label), since: this.now(), progress: '' });
    },
    NodeFinishedEvent: ({ nodeRunId }) => {
      this.nodes.delete(nodeRunId);
      this.tail = '';
    },
    ToolCallEvent: ({ toolCall }) => {
      this.noteCall(toolCall);
    },
    ToolCallUpdatedEvent: ({ toolCall }) => {
      this.noteCall(toolCall);
    },
    ToolProgressEvent: (event) => {
      this.noteProgress(event);
    },
    InterruptOpenedEvent: ({ interruptId, title }) => {
      this.requests.set(interruptId, oneLine(title));
    },
    InterruptResolvedEvent: ({ interruptId }) => {
      this.requests.delete(interruptId);
    },
    JobSnapshotEvent: ({ status, interrupts }) => {
      for (const { id, title } of interrupts) this.requests.set(id, oneLine(title));
      this.enter(status.toLowerCase());
    },
  };

  constructor(private readonly now: () => number) {
    this.since = now();
  }

  /** Applies an event to the calls and jobs that run. */
  note(event: JobEvent): void {
    lookUp(this.changes, event);
  }

  /** One line. */
  describe(): string {
    const running = this.calls.size > 0 ? this.calls : this.nodes;
    if (this.calls.size === 0 && this.requests.size > 0) {
      return `waiting for: ${[...this.requests.values()].join(', ')}`;
    }
    if (running.size === 0) return this.line([this.phase, this.elapsed(this.since), this.tail]);
    const names = [...running.values()].map(({ name }) => name).join(', ');
    const oldest = Math.min(...[...running.values()].map(({ since }) => since));
    const progress = [...running.values()].map((work) => work.progress).filter((text) => text !== '');
    return this.line([names, this.elapsed(oldest), progress.join(', ') || this.tail]);
  }

  private noteProgress({ progressOf, progress, total, message }: JobEventOf<'ToolProgressEvent'>): void {
    const call = this.calls.get(progressOf);
    const share = progress === null ? '' : `${progress}${total === null ? '' : `/${total}`}`;
    if (call !== undefined) call.progress = [share, oneLine(message ?? '')].join(' ').trim();
  }

  private noteCall(call: ToolCallState): void {
    if (call.status === 'RUNNING') this.begin(call);
    else if (isSettled(call)) this.calls.delete(call.callId);
  }

  private write(text: string): void {
    this.tail = oneLine((this.tail + text).slice(-4 * MAX_TAIL_LENGTH)).slice(-MAX_TAIL_LENGTH);
  }

  private begin({ callId, name }: ToolCallState): void {
    this.calls.set(callId, { name: oneLine(name), since: this.now(), progress: '' });
  }

  private enter(phase: string): void {
    this.phase = phase;
    this.since = this.now();
    this.tail = '';
  }

  private elapsed(since: number): string {
    const ms = this.now() - since;
    return ms < 1_000 ? '' : formatDuration(Math.floor(ms / 100) * 100);
  }

  private line(parts: readonly string[]): string {
    return parts.filter((part) => part !== '').join(' · ');
  }
}
