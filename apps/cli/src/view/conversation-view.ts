import { isTerminal, type JobEvent, type JobEventOf } from '@nightshift/client';

import { formatDuration } from '../format/duration.js';
import { oneLine, plainText } from '../terminal/plain-text.js';
import type { Screen } from '../terminal/screen.js';
import { type EventTable, lookUp } from './event-table.js';
import type { JobView } from './job-view.js';
import { RunningWork } from './running-work.js';
import { showEnd } from './show-end.js';
import { showEdit, showToolCall, type ToolCallState } from './show-tool-call.js';

/**
 * The text of a job as it was shown. Deltas may repeat what is known; a restart withdraws the end. Positions are UTF-16 code
 * units in the content of the job.
 */
class ShownText {
  private shown = '';

  get text(): string {
    return this.shown;
  }

  /** Takes a delta and returns what is new in it. */
  add(offset: number, text: string): string {
    const known = Math.max(0, this.shown.length - offset);
    const fresh = text.slice(known);
    this.shown += fresh;
    return fresh;
  }

  /** Everything beyond `length` does not count any more. Returns whether something was withdrawn. */
  cut(length: number): boolean {
    if (length >= this.shown.length) return false;
    this.shown = this.shown.slice(0, length);
    return true;
  }

  /** The text is this now. Returns what has to be written after what was, or null when that no longer stands. */
  replace(text: string): string | null {
    const before = this.shown;
    this.shown = text;
    return text.startsWith(before) ? text.slice(before.length) : null;
  }
}

/**
 * A job as one reads it: the text as it comes, a line for each call and each node of a workflow, what it cost. Where the text
 * goes to a file or a pipe it is written at the end, when nothing of it can be withdrawn any more.
 */
export class ConversationView implements JobView {
  private readonly text = new ShownText();
  private readonly work: RunningWork;
  private readonly begun = new Map<string, number>();
  private readonly questions = new Map<string, string>();
  private readonly shownCalls = new Set<string>();
  private writesText = false;
  private readonly shows: EventTable<void> = {
    JobSnapshotEvent: (event) => {
      this.showSnapshot(event);
    },
    TextDeltaEvent: ({ offset, text }) => {
      // Without an offset it is shown at its node only.
      if (offset !== null) this.write(this.text.add(offset, text));
    },
    RoundRestartedEvent: ({ contentLength, reason }) => {
      if (this.text.cut(contentLength) && this.writesText) this.remark(`↻ ${restarted(reason)}`);
    },
    ToolCallEvent: ({ toolCall, at }) => {
      this.showCall(toolCall, Date.parse(at));
    },
    ToolCallUpdatedEvent: ({ toolCall, at }) => {
      this.showCall(toolCall, Date.parse(at));
    },
    NodeStartedEvent: ({ nodeRunId, at }) => {
      this.begun.set(nodeRunId, Date.parse(at));
    },
    NodeFinishedEvent: (event) => {
      this.showNode(event);
    },
    AgentSelectedEvent: ({ name, reasoning }) => {
      this.remark(`→ ${oneLine(name)}${reasoning === '' ? '' : `: ${oneLine(reasoning)}`}`);
    },
    RouteSelectedEvent: ({ name, reasoning }) => {
      this.remark(`→ ${oneLine(name)}${reasoning === '' ? '' : `: ${oneLine(reasoning)}`}`);
    },
    ModelRetryEvent: ({ reason, delayMs }) => {
      this.remark(`… ${oneLine(reason)} Next attempt in ${formatDuration(delayMs)}.`);
    },
    InterruptOpenedEvent: ({ interruptId, kind, callId, title }) => {
      if (callId === null) this.questions.set(interruptId, title);
      // No prompt is shown for it: without this text the job would seem to hang.
      if (kind === 'WAIT') this.remark(`… ${oneLine(title)} · request ${interruptId}`);
    },
    InterruptResolvedEvent: ({ interruptId, outcome }) => {
      // The output line of a call includes the decision about it.
      const title = this.questions.get(interruptId);
      if (title !== undefined) this.remark(`${oneLine(title)}: ${outcome.replaceAll('_', ' ')}`);
    },
    JobWarningEvent: ({ text }) => {
      this.screen.note(this.screen.paint('yellow', `  ! ${oneLine(text)}`));
    },
    JobCancelRequestedEvent: () => {
      this.remark('cancel requested');
    },
    JobFinishedEvent: (event) => {
      this.finish(event);
    },
  };

  constructor(
    private readonly screen: Screen,
    now: () => number = Date.now,
  ) {
    this.work = new RunningWork(now);
  }

  show(event: JobEvent): void {
    this.work.note(event);
    lookUp(this.shows, event);
    if (event.__typename === 'JobFinishedEvent') return;
    this.screen.show(() => this.work.describe());
  }

  close(): void {
    this.screen.show(null);
  }

  private showNode(event: JobEventOf<'NodeFinishedEvent'>): void {
    if (event.type === 'start' || event.type === 'output') return;
    const { screen } = this;
    const failed = event.nodeStatus === 'ERROR';
    const sign = failed
      ? screen.paint('red', '✗')
      : screen.paint('green', event.nodeStatus === 'COMPLETED' ? '✓' : '–');
    const began = this.begun.get(event.nodeRunId);
    // Nodes that are done within one write have no time of their own.
    const tookMs = began === undefined ? 0 : Date.parse(event.at) - began;
    const time = tookMs < 1 ? '' : `  ${formatDuration(tookMs)}`;
    const pass = event.iteration === null ? '' : ` #${event.iteration}`;
    const inside = '  '.repeat(event.path.length);
    const why = failed ? `  ${oneLine(event.error?.message ?? '')}` : '';
    screen.note(
      `  ${inside}${sign} ${oneLine(event.label)}${pass}${screen.paint('red', why)}${screen.paint('dim', time)}`,
    );
  }

  private showSnapshot(event: JobEventOf<'JobSnapshotEvent'>): void {
    for (const call of event.toolCallStates) this.showCall(call, null);
    const rest = this.text.replace(event.content);
    if (rest === null) {
      if (this.writesText) this.remark('↻ the previous text was withdrawn');
      this.write(event.content);
    } else {
      this.write(rest);
    }
    if (isTerminal(event.status)) this.writeAll();
  }

  private showCall(call: ToolCallState, at: number | null): void {
    if (at !== null && (call.status === 'RUNNING' || !this.begun.has(call.callId))) this.begun.set(call.callId, at);
    const began = this.begun.get(call.callId);
    const line = showToolCall(this.screen, call, at === null || began === undefined ? null : Math.max(0, at - began));
    if (line === null || this.shownCalls.has(call.callId)) return;
    // A person settles a call with an unknown outcome a second time.
    if (call.status !== 'INTERRUPTED') this.shownCalls.add(call.callId);
    this.screen.note(line);
    const edit = showEdit(this.screen, call);
    if (edit !== null) this.screen.note(edit);
  }

  /** Writes the text to a file or pipe once the server can no longer withdraw any of it. */
  private writeAll(): void {
    if (!this.screen.isLive && this.text.text !== '') this.screen.line(plainText(this.text.text).trimEnd());
  }

  private finish(event: JobEventOf<'JobFinishedEvent'>): void {
    this.screen.show(null);
    this.writeAll();
    if (this.writesText) this.screen.note();
    for (const line of showEnd(this.screen, event)) this.screen.note(line);
  }

  private write(text: string): void {
    if (!this.screen.isLive || text === '') return;
    this.writesText = true;
    this.screen.text(plainText(text));
  }

  private remark(text: string): void {
    this.screen.note(this.screen.paint('dim', `  ${text}`));
  }
}

function restarted(reason: string): string {
  return `the round restarts (${oneLine(reason).replaceAll('_', ' ')}): its previous text is withdrawn`;
}
