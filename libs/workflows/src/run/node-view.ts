import type { NodeCallingRun } from '#chat';
import type { JobRun, NewJobEvent, RunWrite } from '#jobs';

import type { UsedByModel } from '../definitions/run-spending.js';

/** How viewers see the text of a conversation. */
export interface Showing {
  /** Whether the text is streamed; the text of conditions and routers is not. */
  readonly isShown: boolean;
  /** Whether the text is also the output of the job. */
  readonly isContent: boolean;
}

/** Counts of all conversations of a run. */
export interface RunTally {
  readonly addUsage: (nodeRun: number, promptTokens: number, completionTokens: number) => void;
  readonly spend: (used: UsedByModel) => void;
  readonly addContent: (text: string) => void;
  /** Adds reasoning that viewers see as the job's reasoning. */
  readonly addReasoning: (text: string) => void;
  /** Whether some of the content was withdrawn. */
  readonly loseContent: () => void;
}

/** The part of a run that belongs to one conversation of a node: it has its own abort signal, and its events name the node. */
export class NodeView implements NodeCallingRun {
  readonly signal: AbortSignal;
  /** The model of the current round. */
  private model = '';

  constructor(
    private readonly run: JobRun,
    readonly node: NodeCallingRun['node'],
    signal: AbortSignal,
    private readonly options: Showing & { readonly tally: RunTally },
  ) {
    this.signal = AbortSignal.any([run.signal, signal]);
  }

  get job() {
    return this.run.job;
  }

  get activity() {
    return this.run.activity;
  }

  get draining(): boolean {
    return this.run.draining;
  }

  abort(reason: Error): void {
    this.run.abort(reason);
  }

  assertValid(): void {
    this.run.assertValid();
  }

  text(round: number, text: string): Promise<void> | undefined {
    const { isShown, isContent, tally } = this.options;
    if (!isShown) return undefined;
    if (isContent) tally.addContent(text);
    return this.run.text(round, text, this.place);
  }

  reasoning(round: number, text: string): Promise<void> | undefined {
    const { isShown, isContent, tally } = this.options;
    if (!isShown) return undefined;
    if (isContent) tally.addReasoning(text);
    return this.run.reasoning(round, text, this.place);
  }

  closeRound(round: number): number {
    return this.options.isShown ? this.run.closeRound(round) : 0;
  }

  restartRound(round: number, reason: string): void {
    const { isShown, isContent, tally } = this.options;
    if (!isShown) return;
    if (isContent) tally.loseContent();
    this.run.restartRound(round, reason, this.place);
  }

  append(write: RunWrite): void {
    this.count(write);
    this.run.append(this.toOwn(write));
  }

  commit(write: RunWrite = {}): Promise<void> {
    this.count(write);
    return this.run.commit(this.toOwn(write));
  }

  /** A refused call is not counted here: it is written again, as cancelled. */
  async commitUnlessCancelled(write: RunWrite): Promise<void> {
    await this.run.commitUnlessCancelled(this.toOwn(write));
    this.count(write);
  }

  private get place() {
    const { nodeId, branch } = this.node;
    return { nodeId, ...(branch === null ? {} : { branchId: branch }), isContent: this.options.isContent };
  }

  private count({ counts, events = [] }: RunWrite): void {
    for (const event of events) if (event.type === 'round-started') this.model = event.body.model;
    if (counts === undefined) return;
    const { promptTokens = 0, completionTokens = 0 } = counts;
    this.options.tally.addUsage(this.node.nodeRun, promptTokens, completionTokens);
    if (promptTokens + completionTokens > 0)
      this.options.tally.spend({ model: this.model, promptTokens, completionTokens });
  }

  private toOwn(write: RunWrite): RunWrite {
    const { events } = write;
    return events === undefined ? write : { ...write, events: events.map((event) => atNode(event, this.node.nodeId)) };
  }
}

const namedTypes: ReadonlySet<string> = new Set([
  'round-started',
  'model-retry',
  'tool-call',
  'tool-call-updated',
  'hook-applied',
  'warning',
]);

function atNode(event: NewJobEvent, nodeId: string): NewJobEvent {
  if (!namedTypes.has(event.type)) return event;
  return { ...event, body: { ...event.body, nodeId } } as NewJobEvent; // the bodies of these event types have this field
}
