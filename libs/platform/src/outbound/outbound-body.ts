import { PassThrough, pipeline, type Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

import type { Dispatcher } from 'undici';

import { answerBroken, answerTooLarge } from './outbound.errors.js';
import type { OutboundLimits } from './outbound-request.js';
import type { OutboundWatch } from './outbound-watch.js';
import { toOutboundError } from './to-outbound-error.js';

/**
 * The body of a response without its content coding (RFC 9110, 8.4: gzip, deflate, br), decoded in pieces: backpressure holds for
 * the decoded bytes, and the reader decides how many it takes. Its errors are ours. Ends the watch when it
 * ends; destroying it ends the exchange. Throws `outbound_broken` for other codings.
 */
export function openBody(answer: Dispatcher.ResponseData, limits: OutboundLimits, watch: OutboundWatch): Readable {
  const coding = answer.headers['content-encoding'];
  const decoders = decodersOf(coding === undefined ? '' : String(coding));
  if (decoders === null) {
    answer.body.on('error', () => undefined).destroy();
    throw answerBroken();
  }
  // The compressed bytes are bounded too: an endless stream can decompress to nothing.
  const isBounded = decoders.length > 0 && limits.maxBytes !== null;
  const counter = counting(watch, isBounded ? limits.maxBytes + IN_FLIGHT_BYTES : Infinity);
  const last = new PassThrough({
    destroy: (error, done) => {
      watch.end();
      done(error === null ? null : asError(toOutboundError(error, watch.signal, 'reading')));
    },
  });
  pipeline([answer.body, counter, ...decoders, last], () => undefined); // an error ends every stage and is read at the last
  return last;
}

/** So that what has been decoded is read before the bound ends everything. */
const IN_FLIGHT_BYTES = 65_536;

function counting(watch: OutboundWatch, maxBytes: number): Transform {
  let left = maxBytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      watch.heard();
      left -= chunk.length;
      if (left < 0) done(answerTooLarge('answer'));
      else done(null, chunk);
    },
  });
}

/** The reason of an abort may be anything; a stream fails with errors only. */
function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : answerBroken(reason);
}

/** Null: an unknown coding, or several. Nested codings have no honest use and multiply the size. */
function decodersOf(coding: string): Transform[] | null {
  const codings = coding.toLowerCase().split(',');
  const named = codings.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
  const [make, more] = named.map((name) => DECODERS.get(name) ?? null);
  if (make === null || more !== undefined) return null;
  return make === undefined ? [] : [make()];
}

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);
