import { describe, expect, it } from '@jest/globals';

import { planAnswer } from './demo-rules.js';
import { missingText, plainText, resultsText, withoutOwnTexts } from './demo-texts.js';

const offered = ['get_current_time', 'calculate', 'X'];
const now = '{"timezone":"Asia/Tokyo","iso":"2026-11-29T19:28:01+09:00","text":"the current time in Tokyo"}';
const texts: readonly (readonly [name: string, text: string])[] = [
  ['plainText', plainText('A trip to Berlin')],
  ['plainText of a question with a rule', plainText('What time is it in Tokyo, and what is 17 * 23? use tool X')],
  ['plainText of an empty question', plainText('')],
  ['missingText', missingText(['get_current_time', 'calculate'])],
  [
    'resultsText',
    resultsText([
      { tool: 'get_current_time', text: now },
      { tool: 'calculate', text: '17 * 23 = 391' },
    ]),
  ],
];

describe('the texts of the demo model', () => {
  it.each(texts)('make the next node call no tool: %s', (_, text) => {
    for (const input of [text, `Goal: short\n\nText:\n${text}\n\n${text}`, JSON.stringify({ output: text })]) {
      expect(planAnswer(withoutOwnTexts(input), offered)).toEqual({ calls: [], missing: [] });
    }
  });

  it('match no rule without the quote', () => {
    for (const text of [plainText('Berlin'), missingText(['X'])])
      expect(planAnswer(text, offered)).toEqual({ calls: [], missing: [] });
  });

  it('leave the rest of a question to the rules', () => {
    const input = `${plainText('The moon')}\nAnd what is 17 * 23?`;
    expect(planAnswer(withoutOwnTexts(input), offered).calls).toEqual([
      { name: 'calculate', arguments: { expression: '17 * 23' } },
    ]);
  });

  it('repeat what an earlier text repeats, and not that text', () => {
    expect(plainText(plainText('The moon'))).toBe(plainText('The moon'));
    expect(plainText(`Views:\n${plainText('The moon')}\n${plainText('The sun')}`)).toBe(
      plainText('Views:\nThe moon\nThe sun'),
    );
    expect(plainText(missingText(['calculate']))).toBe(
      plainText('That needs the tool calculate, which this request does not offer.'),
    );
    expect(plainText(resultsText([{ tool: 'calculate', text: '391' }]))).toMatch(/- calculate \w+: 391"\. I only/);
  });

  it('handle hostile text in time', () => {
    const opening = plainText('').slice(0, 90);
    for (const text of [
      opening.repeat(2_000),
      'I asked the tool for you:\n'.repeat(5_000),
      'That needs the tool '.repeat(5_000),
      `I asked the tool for you:${'\n'.repeat(200_000)}x`,
      `I asked the tool for you:${'\n'.repeat(200_000)}${resultsText([])}`,
      `${opening}"${'\\'.repeat(200_000)}x`,
      `${opening}${'\\'.repeat(200_000)}${plainText('')}`,
      `What time is it? ${'Asia/Aa '.repeat(100_000)}`,
      'what  '.repeat(100_000),
      '{"":"}'.repeat(100_000),
    ]) {
      expect(plainText(text).length).toBeLessThan(1_200);
      expect(planAnswer(withoutOwnTexts(text), offered).calls.length).toBeLessThan(6);
    }
  });
});
