import { connect } from 'node:net';

import { Agent, request } from 'undici';

import type { AttackBounds, AttackTarget, Outcomes } from './attack.js';

/** One request of an attack. */
export interface AttackRequest {
  readonly path: string;
  /** Absent: POST. */
  readonly method?: 'GET' | 'POST';
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the request carries the attacker's key. */
  readonly isAuthenticated?: boolean;
}

/** Sends `toRequest(i)` for each i below `count`, `width` at a time, and counts statuses and error codes. */
export async function sendMany(
  { target, bounds, outcomes }: Attacking,
  { count, width }: { readonly count: number; readonly width: number },
  toRequest: (index: number) => AttackRequest,
): Promise<void> {
  const agent = new Agent({ connections: width, headersTimeout: 0, bodyTimeout: 0 });
  let next = 0;
  const send = async () => {
    while (next < count && !bounds.signal.aborted) {
      outcomes.count(await sendOne(target, toRequest(next++), { agent, signal: bounds.signal }));
    }
  };
  await Promise.all(Array.from({ length: width }, send));
  await agent.destroy();
}

/** What an attack is given, as one parameter. */
export interface Attacking {
  readonly target: AttackTarget;
  readonly bounds: AttackBounds;
  readonly outcomes: Outcomes;
}

async function sendOne(
  { url, apiKey }: AttackTarget,
  { path, method = 'POST', body, headers, isAuthenticated = true }: AttackRequest,
  options: { readonly agent: Agent; readonly signal: AbortSignal },
): Promise<string | number> {
  try {
    const reply = await request(new URL(path, url), {
      method,
      dispatcher: options.agent,
      signal: options.signal,
      headers: {
        'content-type': 'application/json',
        ...(isAuthenticated ? { authorization: `Bearer ${apiKey}` } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    await reply.body.dump();
    return reply.statusCode;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'unanswered';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** A request that is written by hand, because no client would send it. */
export interface RawRequest {
  /** Everything up to the empty line. */
  readonly head: string;
  /** Called whenever the socket takes more; null: nothing more now. */
  readonly nextBytes: () => Buffer | null;
  /** Pause between two writes; 0: as fast as the server reads. */
  readonly everyMs: number;
}

/** Writes until the server closes the connection or the attack ends; counts the status line and the bytes written. */
export function sendRaw({ target, bounds, outcomes }: Attacking, raw: RawRequest): Promise<number> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let status = 'unanswered';
    let timer: NodeJS.Timeout | undefined;
    const abort = () => socket.destroy();
    const write = () => {
      while (!socket.destroyed) {
        const bytes = raw.nextBytes();
        if (bytes === null) return;
        const isTaken = socket.write(bytes);
        if (raw.everyMs > 0) {
          timer = setTimeout(write, raw.everyMs);
          return;
        }
        if (!isTaken) return;
      }
    };
    socket.once('connect', () => {
      socket.write(`${raw.head}\r\n\r\n`);
      write();
    });
    if (raw.everyMs === 0) socket.on('drain', write);
    socket.on('data', (data) => {
      if (status === 'unanswered') status = /^HTTP\/1\.1 (\d{3})/.exec(data.toString('latin1'))?.[1] ?? 'garbage';
    });
    socket.on('error', (error) => {
      if (status === 'unanswered') status = codeOf(error);
    });
    socket.once('close', () => {
      clearTimeout(timer);
      bounds.signal.removeEventListener('abort', abort);
      outcomes.count(status);
      resolve(socket.bytesWritten);
    });
    bounds.signal.addEventListener('abort', abort, { once: true });
    if (bounds.signal.aborted) abort();
  });
}
