import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Whether the request carries this bearer token, compared in constant time; never without a token. */
export function isBearer({ authorization }: IncomingHttpHeaders, token: string | undefined): boolean {
  const given = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  return token !== undefined && given !== undefined && timingSafeEqual(digestOf(given), digestOf(token));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
