import { type Interrupt, isTerminal, type JobEvent, type JobHandle, type Nightshift } from '@nightshift/client';
import { SubJobsDocument } from '@nightshift/client/operations';

import { type ExitCode, exitCodes } from '../exit-code.js';
import { askerOf } from '../requests/asker.js';
import { LEFT } from '../requests/prompts.js';
import type { Screen } from '../terminal/screen.js';
import { type EventTable, lookUp } from '../view/event-table.js';
import type { JobView } from '../view/job-view.js';
import { InterruptPrompter } from './interrupt-prompter.js';
import { StopKeys } from './stop-keys.js';

interface DescendantsInit {
  readonly client: Nightshift;
  readonly signal: AbortSignal;
  /** Called with each event of a descendant job, and with the requests that are new with it. */
  readonly onEvent: (event: JobEvent, fresh: readonly string[]) => void;
  /** Called when a descendant has ended, or a query for descendants has. */
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
}

/** The descendants of a followed job that have not ended, and the requests that they wait for. */
class Descendants {
  private readonly known = new Set<string>();
  private readonly living = new Map<string, OpenRequests>();
  private readonly underWay = new Set<Promise<void>>();
  private looks = 0;

  constructor(private readonly init: DescendantsInit) {}

  /** The requests that they wait for. */
  get requests(): readonly string[] {
    return [...this.living.values()].flatMap(({ ids }) => ids);
  }

  /** Whether all there are hold no worker. */
  get areIdle(): boolean {
    return this.looks === 0 && [...this.living.values()].every(({ isIdle }) => isIdle);
  }

  /** Looks for new descendants when an event of the parent job indicates that there may be some. */
  take(jobId: string, event: JobEvent): void {
    if (event.__typename === 'JobSnapshotEvent') this.look(jobId);
    if (event.__typename !== 'ToolProgressEvent' || event.subJobId === null) return;
    if (!this.known.has(event.subJobId)) this.look(jobId);
  }

  /** Finds the descendants of this job. Only a query finds those whose calls are older than the followed events. */
  look(jobId: string): void {
    this.looks += 1;
    this.run(
      this.find(jobId).finally(() => {
        this.looks -= 1;
      }),
    );
  }

  /** Resolves when nothing is followed any more: after the abort of `signal`. */
  async end(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  private async find(jobId: string): Promise<void> {
    const { client, signal } = this.init;
    const { job } = await client.query(SubJobsDocument, { id: jobId }, { signal });
    for (const { id, status } of job?.subJobs ?? []) {
      if (this.known.has(id)) continue;
      this.known.add(id);
      if (!isTerminal(status)) this.run(this.follow(id));
    }
  }

  private async follow(jobId: string): Promise<void> {
    const { client, signal, onEvent } = this.init;
    const requests = new OpenRequests();
    this.living.set(jobId, requests);
    try {
      for await (const event of client.job(jobId).events({ snapshot: true, signal })) {
        this.take(jobId, event);
        onEvent(event, requests.take(event));
      }
    } finally {
      // A user who detaches needs to know what they wait for.
      if (!signal.aborted) this.living.delete(jobId);
    }
  }

  private run(work: Promise<void>): void {
    const { signal, onEnd, onError } = this.init;
    const done = work
      .then(onEnd)
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      })
      .finally(() => this.underWay.delete(done));
    this.underWay.add(done);
  }
}

export interface FollowInit {
  readonly client: Nightshift;
  readonly screen: Screen;
  readonly job: JobHandle;
  readonly view: JobView;
  /** The last number that is known; undefined: from a snapshot of the present. */
  readonly after: number | undefined;
  /** What to do when the job waits for a person: ask on this terminal, detach, or stay until it continues. */
  readonly whenWaiting: 'ask' | 'leave' | 'stay';
  /** Whether detaching cancels the job. */
  readonly cancelOnExit: boolean;
  readonly editor: string | undefined;
  /** Called with the request of a descendant job, and the tool as which that job was called. */
  readonly onSubJobRequest?: ((request: Interrupt, asker: string | null) => void) | undefined;
  /** Called on Ctrl-C: prints what the user can do next. */
  readonly announce?: (() => void) | undefined;
}

/** How following ended. */
export interface Followed {
  readonly how: 'ended' | 'waiting' | 'left' | 'lost';
  /** The last number that was seen. */
  readonly after: number | undefined;
  readonly last: JobEvent | undefined;
  /** The requests that it and its descendants wait for. */
  readonly requests: readonly string[];
  /** Why it was lost. */
  readonly error?: unknown;
}

/** Shows a job until it ends, until it waits for another person, or until the user detaches. */
export async function followJob(init: FollowInit): Promise<Followed> {
  const follower = new JobFollower(init);
  return follower.run();
}

/** The exit code of a job that has ended. */
export function exitCodeOf(status: string): ExitCode {
  return status === 'COMPLETED' ? exitCodes.ok : exitCodes.failed;
}

class JobFollower {
  private readonly stop = new AbortController();
  private readonly requests = new OpenRequests();
  private readonly prompter: InterruptPrompter;
  private readonly descendants: Descendants;
  private readonly reports: Promise<void>[] = [];
  private readonly postponed = new Set<string>();
  /** The number up to which its requests are known. */
  private known = -1;
  private how: Followed['how'] = 'ended';
  private last: JobEvent | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(private readonly init: FollowInit) {
    const { client, screen, editor } = init;
    this.prompter = new InterruptPrompter({ client, screen, editor });
    this.descendants = new Descendants({
      client,
      signal: this.stop.signal,
      onEvent: (event, fresh) => {
        for (const id of fresh) this.reportRequest(id);
        this.takeRequests(event, fresh);
      },
      onEnd: () => {
        this.leaveUnlessAnswerable();
      },
      onError: (error) => {
        this.fail(error);
      },
    });
  }

  async run(): Promise<Followed> {
    const { job, view, after } = this.init;
    const { signal } = this.stop;
    using keys = new StopKeys(() => {
      this.leave();
    });
    this.init.announce?.();
    try {
      if (after !== undefined && after > 0) await this.catchUp();
      for await (const event of job.events(after === undefined ? { snapshot: true, signal } : { after, signal })) {
        this.last = event;
        view.show(event);
        this.takeOwn(event);
      }
    } catch (error) {
      if (!signal.aborted) this.failure = { error };
    } finally {
      this.prompter.withdrawAll();
      view.close();
    }
    const seen = { after: this.last?.seq ?? after, last: this.last, requests: this.open };
    this.stop.abort();
    await Promise.all([this.descendants.end(), ...this.reports]);
    const { how, failure } = this;
    if (failure !== undefined) return { how: 'lost', ...seen, error: failure.error };
    return { how: keys.pressed ? 'left' : how, ...seen };
  }

  /** Requests opened before the first shown event have no later event, so they are read from the job. */
  private async catchUp(): Promise<void> {
    const { job } = this.init;
    for await (const event of job.events({ snapshot: true, signal: this.stop.signal })) {
      this.descendants.take(job.id, event);
      const fresh = this.requests.take(event);
      this.known = event.seq;
      this.takeRequests(event, fresh);
      return;
    }
  }

  private takeOwn(event: JobEvent): void {
    this.descendants.take(this.init.job.id, event);
    this.takeRequests(event, event.seq > this.known ? this.requests.take(event) : []);
  }

  private get open(): readonly string[] {
    if (this.last?.__typename === 'JobFinishedEvent') return [];
    return [...this.requests.ids, ...this.descendants.requests];
  }

  private takeRequests(event: JobEvent, fresh: readonly string[]): void {
    if (event.__typename === 'InterruptResolvedEvent') this.prompter.withdraw(event.interruptId);
    if (this.init.whenWaiting === 'ask') for (const id of fresh) this.ask(id);
    this.leaveUnlessAnswerable();
  }

  private ask(id: string): void {
    this.prompter.ask(id).then(
      (answer) => {
        if (answer === 'later') this.postponed.add(id);
        if (answer === LEFT) process.emit('SIGINT');
        this.leaveUnlessAnswerable();
      },
      (error: unknown) => {
        this.fail(error);
      },
    );
  }

  private reportRequest(id: string): void {
    const { client, onSubJobRequest } = this.init;
    if (onSubJobRequest === undefined) return;
    const report = client.interrupts.get(id).then(async (request) => {
      if (request !== null) onSubJobRequest(request, await askerOf(client, request));
    });
    this.reports.push(
      report.catch((error: unknown) => {
        this.fail(error);
      }),
    );
  }

  private fail(error: unknown): void {
    this.failure ??= { error };
    this.stop.abort();
  }

  /** Leaves when no open request can be answered here: the others wait for another person, or were put off. */
  private leaveUnlessAnswerable(): void {
    const { whenWaiting } = this.init;
    const { open } = this;
    if (this.stop.signal.aborted || open.length === 0) return;
    if ((this.last?.seq ?? this.init.after ?? 0) < this.known) return; // there is more to show first
    if (!this.requests.isIdle || !this.descendants.areIdle || whenWaiting === 'stay') return;
    if (whenWaiting === 'ask' && !open.every((id) => this.postponed.has(id))) return;
    this.how = 'waiting';
    this.stop.abort();
  }

  private leave(): void {
    if (!this.init.cancelOnExit) {
      this.stop.abort();
      return;
    }
    this.prompter.withdrawAll();
    this.init.screen.note(this.init.screen.paint('dim', '  cancelling the job … (Ctrl-C again exits at once)'));
    this.init.job.cancel().catch((error: unknown) => {
      this.failure = { error };
      this.stop.abort();
    });
  }
}

/** The open requests of a job to a person or a client, according to its log. */
export class OpenRequests {
  private readonly known = new Set<string>();
  private waits = false;
  private readonly changes: EventTable<readonly string[]> = {
    JobSnapshotEvent: ({ status, interrupts }) => {
      this.waits = status === 'WAITING';
      return this.become(interrupts.filter(({ kind }) => needsAnswer(kind)).map(({ id }) => id));
    },
    InterruptOpenedEvent: ({ kind, interruptId }) =>
      needsAnswer(kind) ? this.become([...this.known, interruptId]) : [],
    InterruptResolvedEvent: ({ interruptId }) => {
      this.known.delete(interruptId);
      return [];
    },
    JobWaitingEvent: () => this.become([...this.known], true),
    JobRequeuedEvent: () => this.become([...this.known], false),
    JobStartedEvent: () => this.become([...this.known], false),
  };

  /** Whether the job holds no worker: it waits for one of these, for a sub-job, or for its time. */
  get isIdle(): boolean {
    return this.waits;
  }

  get ids(): readonly string[] {
    return [...this.known];
  }

  has(id: string): boolean {
    return this.known.has(id);
  }

  /** Takes an event; gives the requests that are new with it. */
  take(event: JobEvent): readonly string[] {
    return lookUp(this.changes, event) ?? [];
  }

  private become(ids: readonly string[], waits = this.waits): readonly string[] {
    this.waits = waits;
    const fresh = ids.filter((id) => !this.known.has(id));
    this.known.clear();
    for (const id of ids) this.known.add(id);
    return fresh;
  }
}

const kinds: ReadonlySet<string> = new Set(['TOOL_APPROVAL', 'HUMAN_INPUT', 'CLIENT_TOOL', 'UNKNOWN_OUTCOME']);

/** A job may also wait for an instant or an event, which need no answer. */
function needsAnswer(kind: string): boolean {
  return kinds.has(kind);
}
