import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { executeToolCall } from '../execute-tool-call.js';
import { BUILTIN_TOOLS } from './builtin-tools.js';
import { toIsoWithOffset } from './get-current-time.tool.js';

const clock = new ManualClock(Date.UTC(2026, 10, 20, 19, 5, 7));

async function call(name: string, args: string): Promise<string> {
  const tool = BUILTIN_TOOLS.find((candidate) => candidate.name === name);
  if (tool === undefined) return `no tool ${name}`;
  const outcome = await executeToolCall({
    tool,
    arguments: args,
    context: {
      workspaceId: 'w',
      jobId: 'j',
      threadId: null,
      principal: 'system',
      callId: 'c',
      idempotencyKey: 'j:1:1',
      epoch: 1,
      signal: new AbortController().signal,
      now: () => clock.now(),
      progress: () => undefined,
    },
    defaultTimeoutMs: 1_000,
    clock,
  });
  return outcome.modelText;
}

describe('the built-in tools', () => {
  it('declare effects that allow a repetition', () => {
    expect(BUILTIN_TOOLS.map((tool) => [tool.name, tool.effect])).toEqual([
      ['get_current_time', 'pure'],
      ['calculate', 'pure'],
      ['add_numbers', 'pure'],
      ['ask_person', 'idempotent'], // never run: a person answers
    ]);
  });

  it.each([
    ['get_current_time', '{}', '2026-11-20T19:05:07+00:00'],
    ['get_current_time', '{"timezone":"Europe/Berlin"}', '2026-11-20T20:05:07+01:00'],
    ['get_current_time', '{"timezone":"America/New_York"}', '2026-11-20T14:05:07-05:00'],
    ['get_current_time', '{"timezone":"Asia/Kathmandu"}', '2026-11-21T00:50:07+05:45'],
    ['calculate', '{"expression":"17 * 23 + 5"}', '396'],
    ['calculate', '{"expression":"1 / 0"}', 'Error executing tool "calculate": Division by zero at position 3'],
    ['calculate', '{}', 'Missing required parameters: expression'],
    ['add_numbers', '{"a":2,"b":3.5}', '5.5'],
    ['add_numbers', '{"a":2}', 'Missing required parameters: b'],
    ['add_numbers', '{"a":2,"b":"3"}', 'Error executing tool "add_numbers": invalid arguments: "b" must be number'],
  ])('%s with %s returns %s', async (name, args, text) => {
    expect(await call(name, args)).toBe(text);
  });

  it.each(['Mars/Base', 'nope', '../etc'])('get_current_time rejects the unknown time zone %s', async (timezone) => {
    expect(await call('get_current_time', JSON.stringify({ timezone }))).toBe(
      `Error executing tool "get_current_time": Unknown time zone "${timezone}". Use an IANA name such as "Europe/Berlin" or "UTC"`,
    );
  });
});

describe('toIsoWithOffset', () => {
  it.each(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns', 'Pacific/Kiritimati'])(
    'returns the instant in %s',
    (zone) => {
      for (let hour = 0; hour < 24 * 366; hour += 13) {
        const instant = Date.UTC(2026, 0, 1, hour, 30, 59);
        expect(Date.parse(toIsoWithOffset(instant, zone))).toBe(instant);
      }
    },
  );
});
