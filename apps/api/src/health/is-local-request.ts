import type { IncomingHttpHeaders } from 'node:http';

interface Incoming {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** Whether a request comes from this machine itself. A proxy on this machine speaks for others, and says so in a header. */
export function isLocalRequest({ headers, socket }: Incoming): boolean {
  const address = socket.remoteAddress ?? '';
  const isLoopback = address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address);
  return isLoopback && !forwarding.some((name) => headers[name] !== undefined);
}
