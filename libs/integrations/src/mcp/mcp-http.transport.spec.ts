import { describe, expect, it } from '@jest/globals';

import { MessageScan } from './mcp-http.transport.js';

/** 40,000 tokens: two of them exceed the limit of a message. */
const list = `[${'1,'.repeat(40_000)}1]`;

/** Whether a response with these chunks exceeds the limits. */
const exceeds = (isStream: boolean, ...chunks: readonly string[]) => {
  const scan = new MessageScan(isStream);
  try {
    for (const chunk of chunks) scan.push(Buffer.from(chunk));
    return false;
  } catch {
    return true;
  }
};

describe('the limits of a message of an MCP server', () => {
  it.each(['\n', '\r', '\r\n'])('count each message of an event stream whose lines end with %j', (end) => {
    const message = `event: message${end}data: ${list}${end}`;
    expect(exceeds(true, `${message}${end}${message}${end}`)).toBe(false);
    expect(exceeds(true, end.slice(0, 1), end.slice(1), `${message}${end}`, `${message}${end}`)).toBe(false);
    expect(exceeds(true, `${message}data: ${list}${end}${end}`)).toBe(true);
  });

  it.each(['\n', '\r', '\r\n'])('count a message after a line with an open quote, if lines end with %j', (end) => {
    expect(exceeds(true, `: "${end}data: ${list}${end}data: ${list}${end}${end}`)).toBe(true);
  });

  it('join the halves of a line end that two chunks share', () => {
    expect(exceeds(true, `data: ${list}\r`, `\ndata: ${list}\r\n\r\n`)).toBe(true);
  });

  it('count a JSON document as a whole, also with empty lines', () => {
    expect(exceeds(false, list)).toBe(false);
    expect(exceeds(false, `[${list},\n\n${list}]`)).toBe(true);
  });
});
