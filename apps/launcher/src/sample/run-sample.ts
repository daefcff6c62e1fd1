import { type Terminal, toPlainText } from '../terminal/terminal.js';
import { JobClient } from './job-client.js';
import { printOpenRequests } from './open-request.js';
import type { SampleEvent } from './sample-event.js';
import { SampleStopwatch, type SampleTimings } from './sample-timings.js';

const MAX_SHOWN_LENGTH = 100;

/** Aligns with the text of lines that begin with a time. */
const INDENT = ' '.repeat(13);

/**
 * Shows the events of a job as they come: rounds, tool calls, text as it streams. Each line begins with the time at which
 * this viewer saw it, in ms since the request.
 */
export class SampleView {
  private isInText = false;

  constructor(private readonly out: Terminal) {}

  show(event: SampleEvent, elapsedMs: number): void {
    switch (event.type) {
      case 'round-started':
        this.line(elapsedMs, `round ${event.round}, ${toPlainText(event.model)}`);
        return;
      case 'text':
        this.showText(toPlainText(event.text), elapsedMs);
        return;
      case 'round-restarted':
        this.line(elapsedMs, `round ${event.round} starts again; its text is withdrawn`);
        return;
      case 'tool-call':
        if (event.isSettled) {
          const name = this.out.style('cyan', toPlainText(event.name));
          this.line(elapsedMs, `  ${name} ${oneLine(event.args)} -> ${oneLine(event.outcome)}`);
        }
        return;
      case 'round-finished':
      case 'waiting':
      case 'finished':
        this.endText();
        return;
      default:
        event satisfies never;
    }
  }

  private line(elapsedMs: number, text: string): void {
    this.endText();
    this.out.line(this.time(elapsedMs) + text);
  }

  private showText(text: string, elapsedMs: number): void {
    if (text === '') return;
    if (!this.isInText) this.out.write(`${this.time(elapsedMs)}  `);
    this.out.write(text.replaceAll('\n', `\n${INDENT}`));
    this.isInText = true;
  }

  private endText(): void {
    if (this.isInText) this.out.line();
    this.isInText = false;
  }

  private time(elapsedMs: number): string {
    return this.out.style('dim', `${String(Math.round(elapsedMs)).padStart(6)} ms  `);
  }
}

function oneLine(text: string): string {
  const line = toPlainText(text).replaceAll(/\s+/g, ' ');
  return line.length <= MAX_SHOWN_LENGTH ? line : `${line.slice(0, MAX_SHOWN_LENGTH)}…`;
}

/** The client's id of the sample's assistant message. */
const NAME = 'nightshift-sample';
const QUESTION = 'What time is it in Tokyo, and what is 17 * 23?';
const TOOLS = ['get_current_time', 'calculate'];

/** The server, the key and the output of the sample. */
export interface SampleInit {
  /** Base URL of the api. */
  readonly url: string;
  readonly apiKey: string;
  /** The file of the key, to print for the user. */
  readonly keyFile: string;
  readonly signal: AbortSignal;
  /** How long the sample is followed. */
  readonly timeoutMs: number;
  readonly out: Terminal;
  /** Whether to start a sample if none of an earlier start waits. */
  readonly startsNew: boolean;
}

/**
 * Runs the first sample job as any client would: starts it with a GraphQL mutation over HTTP, follows it with a subscription over WebSocket
 * from event 0 on, and shows it live. If the job waits for a person, prints how to decide and returns; a later start shows that job instead
 * of starting another. Returns null if there was nothing to start or show. Rejects if the job is refused, can no longer be followed or has
 * not ended within `timeoutMs`, and with the signal's reason on abort; the job itself keeps running.
 */
export async function runSample(init: SampleInit): Promise<SampleTimings | null> {
  const { url, apiKey, signal, timeoutMs, out } = init;
  const client = new JobClient(url, apiKey);
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  const timeout = AbortSignal.timeout(timeoutMs);
  const watching = AbortSignal.any([signal, timeout]);
  const earlier = await client.findWaiting(NAME, watching);
  if (earlier === null && !init.startsNew) return null;
  out.line(`${out.style('bold', earlier === null ? 'A first sample job' : 'The sample job of before')}: ${QUESTION}`);
  const jobId = earlier ?? (await client.startChat({ name: NAME, text: QUESTION, tools: TOOLS }, watching));
  const stopwatch = new SampleStopwatch(jobId, elapsed());
  const view = new SampleView(out);
  for await (const event of client.follow(jobId, watching)) {
    view.show(event, elapsed());
    const timings = stopwatch.onEvent(event, elapsed());
    if (timings !== undefined) {
      out.line(endLine(timings, event.type === 'finished' ? event.reason : '', out));
      return timings;
    }
    if (event.type !== 'waiting') continue;
    const requests = await client.openRequests(jobId, watching);
    if (requests.length === 0) continue; // already decided
    printOpenRequests(out, requests, init);
    return stopwatch.leave('waiting', elapsed());
  }
  signal.throwIfAborted();
  if (timeout.aborted) throw new Error(`Job ${jobId} had not ended after ${timeoutMs / 1_000} s.`);
  throw new Error(`The stream of job ${jobId} ended before the job did.`);
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The last line of a sample job. */
export function endLine(timings: SampleTimings, reason: string, out: Terminal): string {
  const isGood = timings.status === 'completed';
  const verdict = out.style(isGood ? 'green' : 'red', isGood ? timings.status : `${timings.status} (${reason})`);
  const firstText = timings.firstTextMs === null ? '' : `, first text after ${Math.round(timings.firstTextMs)} ms`;
  return (
    `  ${verdict} in ${Math.round(timings.totalMs)} ms: ${counted(timings.rounds, 'round')}, ${counted(timings.toolCalls, 'tool call')}, ` +
    `accepted after ${Math.round(timings.acceptedMs)} ms${firstText}\n`
  );
}
