import { describe, expect, it } from '@jest/globals';

import { McpHttpTransport, MessageScan, TOO_LARGE } from './mcp-http.transport.js';

/** 7,500 tokens: two of them exceed the limit of the outer levels of a message. */
const list = `[${'1,'.repeat(7_500)}1]`;

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

  it('count only the fields `data` of an event stream', () => {
    const deep = `${'['.repeat(201)}${']'.repeat(201)}`;
    expect(exceeds(true, `\ufeffdata: ${deep}\n\n`)).toBe(true);
    expect(exceeds(true, ...Array.from(`data:${deep}\n\n`))).toBe(true);
    expect(exceeds(true, `d[[[[[\ndata: ${list}${list}\n\n`)).toBe(true);
    expect(exceeds(true, `: ${']'.repeat(500)}\ndata: ${deep}\n\n`)).toBe(true);
    expect(exceeds(true, `: ${deep}\nid: ${deep}\ndata: []\n\n`)).toBe(false);
  });

  it('allow 200 tools with 25 parameters each, and 5,000 rows of structured content', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => [`param${i}`, { type: 'string', description: 'A parameter' }]),
    );
    const tool = { name: 'a', inputSchema: { type: 'object', properties } };
    const rows = Array.from({ length: 5_000 }, (_, i) => ({ id: i, name: 'a', city: 'b', size: 1, isNew: true }));
    const result = (content: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: content });
    expect(exceeds(false, result({ tools: Array(200).fill(tool) }))).toBe(false);
    expect(exceeds(false, result({ content: [], structuredContent: { rows } }))).toBe(false);
    expect(exceeds(false, result({ content: Array(5_001).fill({}) }))).toBe(true);
  });
});

it.each([
  [
    'an event stream that has an event id',
    'Text/Event-Stream; charset=utf-8',
    (json: string) => `id: 1\ndata:\n\ndata: ${json}\n\n`,
  ],
  [
    'a document with a misleading parameter',
    'application/json; x=text/event-stream',
    (json: string) => json.replaceAll('1,1,', '1,\n\n1,'),
  ],
])('a request fails with the reason when its response is too large: %s', async (_, type, toBody) => {
  const json = `{"jsonrpc":"2.0","id":1,"result":{"tools":[${'1,'.repeat(30_000)}1]}}`;
  const fetch = () => Promise.resolve(new Response(toBody(json), { headers: { 'content-type': type } }));
  const transport = McpHttpTransport.to({ url: 'http://127.0.0.1/mcp', headers: {}, fetch }, new Map());
  const received = new Promise((resolve) => (transport.onmessage = resolve));
  await transport.start();
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }).catch(() => undefined);
  expect(await received).toMatchObject({ id: 1, error: { code: TOO_LARGE } });
  await transport.close();
});
