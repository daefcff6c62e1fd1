import type { Socket } from 'node:net';

import type { Reply, ReplyPiece } from './scripted-reply.js';

/** A request as it stood on the wire. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Takes one HTTP/1.1 request with Content-Length off the front of `bytes`. Undefined while it is incomplete. Just enough of
 * the protocol for model clients, by hand because the server must cost next to nothing beside what it measures.
 */
export function takeRequest(bytes: Buffer): { readonly request: WireRequest; readonly rest: Buffer } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const bodyStart = headEnd + 4;
  const bodyEnd = bodyStart + Number(headers['content-length'] ?? 0);
  if (bytes.length < bodyEnd) return undefined;
  const [method = '', path = ''] = first.split(' ');
  return {
    request: { method, path, headers, body: bytes.toString('utf8', bodyStart, bodyEnd) },
    rest: bytes.subarray(bodyEnd),
  };
}

const END = '0\r\n\r\n';
const compiled = new WeakMap<Reply, readonly Step[]>();

type Step = Buffer | Exclude<ReplyPiece, string | Buffer>;

/** Plays a reply; resolves when its end is on the wire, the socket is gone, or never for one that hangs. */
export async function writeReply(socket: Socket, reply: Reply): Promise<void> {
  await reply.before?.opened;
  for (const step of compile(reply)) {
    if (socket.destroyed) return;
    if (Buffer.isBuffer(step)) await write(socket, step);
    else if ('opened' in step) await step.opened;
    else await new Promise((resolve) => setTimeout(resolve, step.delayMs));
  }
  if (reply.end === 'destroy') socket.destroy();
  else if (reply.end === 'hang') await happens(socket, 'close');
}

/** Waits for a receiver that does not read. */
async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (bytes.length === 0 || socket.write(bytes)) return;
  await Promise.race([happens(socket, 'drain'), happens(socket, 'close')]);
}

/** Unlike `events.once` it does not reject on an error: a client may reset its connection. */
function happens(socket: Socket, event: 'drain' | 'close'): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once(event, resolve);
  });
}

/** Head and chunks as bytes, neighbours joined into one write; made once per reply. */
function compile(reply: Reply): readonly Step[] {
  const known = compiled.get(reply);
  if (known !== undefined) return known;
  const steps: Step[] = [];
  let bytes: Buffer[] = [Buffer.from(head(reply))];
  for (const piece of reply.body) {
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) {
      bytes.push(toChunk(piece));
      continue;
    }
    steps.push(Buffer.concat(bytes), piece);
    bytes = [];
  }
  if ((reply.end ?? 'clean') === 'clean') bytes.push(Buffer.from(END));
  steps.push(Buffer.concat(bytes));
  compiled.set(reply, steps);
  return steps;
}

function toChunk(piece: string | Buffer): Buffer {
  const bytes = Buffer.from(piece);
  if (bytes.length === 0) return bytes;
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function head(reply: Reply): string {
  const headers = { 'content-type': 'text/event-stream', ...reply.headers, 'transfer-encoding': 'chunked' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${reply.status ?? 200} Scripted\r\n${lines.join('')}\r\n`;
}
