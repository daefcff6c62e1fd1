import type { JobEvent, JobHandle, Nightshift } from '@nightshift/client';

import type { ExitCode } from '../exit-code.js';
import { exitCodes } from '../exit-code.js';
import { LEFT } from '../requests/prompts.js';
import type { Screen } from '../terminal/screen.js';
import type { JobView } from '../view/job-view.js';
import { OpenRequests } from './open-requests.js';
import { RequestDesk } from './request-desk.js';
import { StopKeys } from './stop-keys.js';

export interface FollowInit {
  readonly client: Nightshift;
  readonly screen: Screen;
  readonly job: JobHandle;
  readonly view: JobView;
  /** The last number that is known; undefined: from a snapshot of the present. */
  readonly after: number | undefined;
  /** What to do when the job waits for somebody: ask the person here, leave it, or stay until it goes on. */
  readonly whenWaiting: 'ask' | 'leave' | 'stay';
  /** Whether leaving stops the job. */
  readonly cancelOnExit: boolean;
  readonly editor: string | undefined;
  /** Called when leaving is heard: what it says may be acted upon. */
  readonly announce?: (() => void) | undefined;
}

/** How following ended. */
export interface Followed {
  readonly how: 'ended' | 'waiting' | 'left' | 'lost';
  /** The last number that was seen. */
  readonly after: number | undefined;
  readonly last: JobEvent | undefined;
  /** What it waits for. */
  readonly requests: readonly string[];
  /** Why it was lost. */
  readonly error?: unknown;
}

/** Shows a job until it ends, until it waits for somebody who is not here, or until the person leaves. */
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
  private readonly desk: RequestDesk;
  private readonly putOff = new Set<string>();
  private how: Followed['how'] = 'ended';
  private last: JobEvent | undefined;
  private failure: { readonly error: unknown } | undefined;

  constructor(private readonly init: FollowInit) {
    const { client, screen, editor } = init;
    this.desk = new RequestDesk({ client, screen, editor });
  }

  async run(): Promise<Followed> {
    const { job, view, after } = this.init;
    const { signal } = this.stop;
    using keys = new StopKeys(() => {
      this.leave();
    });
    this.init.announce?.();
    try {
      for await (const event of job.events(after === undefined ? { snapshot: true, signal } : { after, signal })) {
        this.last = event;
        view.show(event);
        this.takeRequests(event);
      }
    } catch (error) {
      if (!signal.aborted) this.failure = { error };
    } finally {
      this.desk.withdrawAll();
      view.close();
    }
    const { how, last, failure } = this;
    const seen = { after: last?.seq ?? after, last, requests: this.requests.ids };
    if (failure !== undefined) return { how: 'lost', ...seen, error: failure.error };
    return { how: keys.pressed ? 'left' : how, ...seen };
  }

  private takeRequests(event: JobEvent): void {
    const fresh = this.requests.take(event);
    if (event.__typename === 'InterruptResolvedEvent') this.desk.withdraw(event.interruptId);
    if (this.init.whenWaiting === 'ask') for (const id of fresh) this.ask(id);
    this.leaveIfNobodyIsHere();
  }

  private ask(id: string): void {
    this.desk.ask(id).then(
      (answer) => {
        if (answer === 'later') this.putOff.add(id);
        if (answer === LEFT) process.emit('SIGINT');
        this.leaveIfNobodyIsHere();
      },
      (error: unknown) => {
        this.failure = { error };
        this.stop.abort();
      },
    );
  }

  /** Whom nobody here can answer, or who was put off, is waited for elsewhere. */
  private leaveIfNobodyIsHere(): void {
    const { whenWaiting } = this.init;
    if (!this.requests.isWaiting || whenWaiting === 'stay') return;
    if (whenWaiting === 'ask' && !this.requests.ids.every((id) => this.putOff.has(id))) return;
    this.how = 'waiting';
    this.stop.abort();
  }

  private leave(): void {
    if (!this.init.cancelOnExit) {
      this.stop.abort();
      return;
    }
    this.desk.withdrawAll();
    this.init.screen.note(this.init.screen.paint('dim', '  stopping the job … (Ctrl-C again leaves at once)'));
    this.init.job.cancel().catch((error: unknown) => {
      this.failure = { error };
      this.stop.abort();
    });
  }
}
