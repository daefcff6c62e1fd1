import { describe, expect, it } from '@jest/globals';

import { planAnswer } from './demo-rules.js';

const offered = ['get_current_time', 'calculate', 'add_numbers'];

function plan(question: string, tools = offered): string[] {
  return planAnswer(question, tools).calls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`);
}

const time = (timezone?: string) => `get_current_time ${JSON.stringify({ timezone })}`;
const sum = (expression: string) => `calculate ${JSON.stringify({ expression })}`;

describe('planAnswer', () => {
  it.each([
    ['What time is it in Tokyo, and what is 17 * 23?', [time('Asia/Tokyo'), sum('17 * 23')]],
    ['What time is it?', [time()]],
    ["What's the current date?", [time()]],
    ['Tell me the time in New York and in São Paulo.', [time('America/New_York'), time('America/Sao_Paulo')]],
    ['time in Europe/Berlin please, and in UTC', [time('Europe/Berlin'), time('UTC')]],
    ['What is (1 + 2) * 3.5 - 4^2 / 7?', [sum('(1 + 2) * 3.5 - 4^2 / 7')]],
    ['sqrt(16) + 2 please', [sum('sqrt(16) + 2')]],
    ['How much is 6 times 7, and 1,000 plus 2?', [sum('6 * 7'), sum('1000 + 2')]],
    ['3 x 4', [sum('3 * 4')]],
    ['-5 + 3', [sum('-5 + 3')]],
    ['use tool add_numbers {"a": 1, "b": {"c": 2}} now', ['add_numbers {"a":1,"b":{"c":2}}']],
    ['use tool add_numbers {"a": "}{", "b": [{}]} and {"c": 3}', ['add_numbers {"a":"}{","b":[{}]}']],
    ['Please use the tool "add_numbers".', ['add_numbers {}']],
    ['call tool add_numbers with {broken', ['add_numbers {}']],
    ['Tell me a story.', []],
    ['It was on 2026-11-20, in Berlin.', []],
    ['I have 3 cats and 2 dogs', []],
    ['It takes 3 hours', []],
  ])('%s', (question, calls) => {
    expect(plan(question)).toEqual(calls);
  });

  it('calls only offered tools and names missing ones', () => {
    expect(planAnswer('What time is it in Tokyo, and what is 17 * 23?', ['calculate'])).toEqual({
      calls: [{ name: 'calculate', arguments: { expression: '17 * 23' } }],
      missing: ['get_current_time'],
    });
    expect(planAnswer('use tool nope', offered)).toEqual({ calls: [], missing: ['nope'] });
  });

  it('handles hostile text in time', () => {
    for (const text of [
      '{'.repeat(20_000),
      '1+'.repeat(50_000),
      '('.repeat(50_000),
      'use tool x {}}'.repeat(5_000),
      `{"a":[${'['.repeat(9_000)}${'}'.repeat(9_000)}`,
      ' '.repeat(50_000),
    ]) {
      expect(plan(`use tool x ${text}`).length + plan(text).length).toBeGreaterThanOrEqual(0);
    }
  });
});
