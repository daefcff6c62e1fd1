import { type ClientRequest, type IncomingMessage, request } from 'node:http';

import { createParser } from 'eventsource-parser';

/** One message of a stream, its data parsed. */
export interface StreamFrame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of an event stream that can pause. */
export interface EventStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly frames: StreamFrame[];
  /** All bytes so far, as text. */
  readonly raw: () => string;
  /** Resolves with the first past or future frame for which `holds` is true; rejects when the stream ends without one. */
  until(holds: (frame: StreamFrame) => boolean): Promise<StreamFrame>;
  /** Resolves when the stream has ended: `true` for a complete response. */
  readonly over: Promise<boolean>;
  /** Reads nothing more until `resume`. */
  pause(): void;
  resume(): void;
  /** Destroys the connection. */
  leave(): void;
}

/** Opens a stream over plain HTTP; resolves with its headers. */
export function openEventStream(url: string, headers: Readonly<Record<string, string>>): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false }, (response) => {
      resolve(follow(sent, response));
    });
    sent.on('error', reject);
    sent.end();
  });
}

function follow(sent: ClientRequest, response: IncomingMessage): EventStream {
  const frames: StreamFrame[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const parser = createParser({
    onEvent: ({ id, event, data }) => frames.push({ id, event, data: JSON.parse(data) as StreamFrame['data'] }),
  });
  let raw = '';
  let isOver = false;
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    raw += text;
    parser.feed(text);
    wake();
  });
  response.on('error', () => undefined);
  const over = new Promise<boolean>((resolve) => {
    response.on('close', () => {
      isOver = true;
      resolve(response.complete);
      wake();
    });
  });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    frames,
    raw: () => raw,
    over,
    until: (holds) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = frames.find(holds);
          if (found === undefined && !isOver) return;
          waiting.delete(check);
          if (found !== undefined) resolve(found);
          else reject(new Error(`the stream ended without it, after ${raw.slice(-500)}`));
        };
        waiting.add(check);
        check();
      }),
    pause: () => response.pause(),
    resume: () => response.resume(),
    leave: () => sent.destroy(),
  };
}
