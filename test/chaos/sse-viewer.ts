import { setTimeout } from 'node:timers/promises';

import { createParser } from 'eventsource-parser';

/** One message of a native stream, as far as tests look at it. */
export interface SseEvent {
  readonly seq: number;
  readonly type: string;
}

/** A client that watches one job through whichever api answers, and remembers every message. */
export class SseViewer {
  readonly events: SseEvent[] = [];
  /** How often it had to attach again. */
  reattached = 0;
  /** Resolves when `job-finished` has come. */
  readonly ended: Promise<void>;

  /** `apis` are asked in turn, beginning with the first; `after` 0 asks for the log from its first number on. */
  constructor(
    private readonly apis: readonly string[],
    private readonly key: string,
    private readonly jobId: string,
    readonly after = 0,
  ) {
    this.ended = this.watch();
    this.ended.catch(() => undefined); // the caller that awaits the end gets the error
  }

  private async watch(): Promise<void> {
    for (let attempt = 0; this.events.at(-1)?.type !== 'job-finished'; attempt++) {
      if (attempt > 100) throw new Error(`no api shows job ${this.jobId}`);
      if (attempt > 0) {
        this.reattached += 1;
        await setTimeout(50);
      }
      // An api that is killed resets the connection; the next one is given the last number seen.
      await this.attach(this.apis[attempt % this.apis.length] ?? '').catch(() => undefined);
    }
  }

  private async attach(api: string): Promise<void> {
    const cursor = this.events.at(-1)?.seq ?? this.after;
    const headers = { authorization: `Bearer ${this.key}`, 'last-event-id': String(cursor) };
    const response = await fetch(new URL(`/api/jobs/${this.jobId}/stream`, api), { headers });
    // A busy machine that sent nothing is not a lost server: repeat the request at the same one.
    if (response.status === 503) {
      await response.body?.cancel();
      return this.attach(api);
    }
    if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`);
    const parser = createParser({
      onEvent: ({ id, event }) => {
        this.events.push({ seq: Number(id), type: event ?? '' });
      },
    });
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) parser.feed(chunk);
  }
}
