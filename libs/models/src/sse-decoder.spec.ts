import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { SseDecoder, SseLineTooLong, type SseSink } from './sse-decoder.js';

function decode(bytes: Buffer, cuts: readonly number[] = [], maxLineBytes = 1_000_000): string[] {
  const seen: string[] = [];
  const isWhole = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const sink: SseSink = {
    data: (block, start, end) => {
      const text = block.slice(start, end);
      if (isWhole(text)) seen.push(text);
      return isWhole(text);
    },
    wholeDocument: (payload) => seen.push(isWhole(payload) ? payload : `broken ${payload}`),
    unknownLine: (line) => seen.push(`stray ${line}`),
  };
  const decoder = new SseDecoder(sink, maxLineBytes);
  let from = 0;
  for (const cut of [...cuts.filter((at) => at <= bytes.length).sort((a, b) => a - b), bytes.length]) {
    decoder.push(bytes.subarray(from, cut));
    from = cut;
  }
  decoder.end();
  return seen;
}

const of = (text: string) => decode(Buffer.from(text));

describe('SseDecoder', () => {
  it.each([
    ['LF', 'data: {"a":1}\n\ndata: {"b":2}\n\n'],
    ['CRLF', 'data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n'],
    ['CR', 'data: {"a":1}\r\rdata: {"b":2}\r\r'],
    ['mixed line ends', 'data: {"a":1}\r\n\ndata: {"b":2}\r\r\n'],
    ['no space after the colon', 'data:{"a":1}\n\ndata:{"b":2}\n\n'],
    ['no blank lines', 'data: {"a":1}\ndata: {"b":2}\n'],
    ['a last line without an end', 'data: {"a":1}\n\ndata: {"b":2}'],
    ['a byte order mark', '\uFEFFdata: {"a":1}\n\ndata: {"b":2}\n\n'],
    [
      'comments and other fields',
      ': OPENROUTER PROCESSING\n\nevent: x\nid: 7\nretry: 5\ndata: {"a":1}\n\n:\ndata: {"b":2}\n\ndata\n\n',
    ],
    ['empty data', 'data: {"a":1}\n\ndata:\n\ndata: \n\ndata: {"b":2}\n\n'],
  ])('reads a stream with %s', (_, text) => {
    expect(of(text)).toEqual(['{"a":1}', '{"b":2}']);
  });

  it('joins a payload of several lines', () => {
    expect(of('data: {"a":\ndata: 1}\n\ndata: 2\n\n')).toEqual(['{"a":\n1}', '2']);
  });

  it('emits an incomplete payload at its blank line and at the end', () => {
    expect(of('data: {"a":\n\ndata: 2\n\ndata: {"b"')).toEqual(['broken {"a":', '2', 'broken {"b"']);
  });

  it('emits lines that are not fields', () => {
    expect(of('{"error":"x"}\ndata: 1\n\n')).toEqual(['stray {"error":"x"}', '1']);
  });

  it('keeps a byte order mark that is not at the start', () => {
    expect(of('data: "\uFEFF"\n\n')).toEqual(['"\uFEFF"']);
  });

  it('returns the same for any split of the bytes', () => {
    const piece = fc.constantFrom(
      'data: "ä😀\u2028"', 'data:1', ': c', '{"stray":1}', 'data: {"a":', 'data: 1}', 'event: x', 'data: "\\ud83d"', '\uFEFF', 'data',
    ); // prettier-ignore
    const text = fc.array(fc.tuple(piece, fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n', '\r\r')), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, fc.boolean(), fc.array(fc.nat(200)), (lines, hasEnd, cuts) => {
        const whole = Buffer.from(lines.map(([line, end]) => line + end).join('') + (hasEnd ? '' : 'data: 9'));
        expect(decode(whole, cuts)).toEqual(decode(whole));
        expect(decode(whole, [...whole.keys()])).toEqual(decode(whole));
      }),
    );
  });

  it('refuses a line over the cap, whether it arrives whole or in pieces, ended or not', () => {
    const long = Buffer.from(`data: "${'x'.repeat(200)}"\n\n`);
    expect(() => decode(long, [], 100)).toThrow(SseLineTooLong);
    expect(() => decode(long, [50, 90, 120], 100)).toThrow(SseLineTooLong);
    expect(() => decode(long.subarray(0, 150), [50, 90], 100)).toThrow(SseLineTooLong);
    expect(() => decode(Buffer.from('data: {\n'.repeat(100)), [], 100)).toThrow(SseLineTooLong);
  });

  it('refuses a payload of more than 100,000 lines', () => {
    expect(() => of(`data: [\n${'data:\n'.repeat(100_000)}`)).toThrow(SseLineTooLong);
    const lines = `data: [\n${'data:\n'.repeat(60_000)}data: 1]\n\n`;
    expect(of(lines.repeat(2))).toHaveLength(2);
  });
});
