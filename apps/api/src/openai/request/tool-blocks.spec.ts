import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import {
  asks,
  contentOf,
  eventsOf,
  readAnswer,
  story,
  textRound,
  weather,
} from '../../../../../test/harness/answer-reading.js';
import { splitBlocks, withoutBlocks } from './tool-blocks.js';

const start = '<tool id="1" state="start">f(a=1)</tool>';
const done = '<tool id="1" state="done">f(a=1)\nline 1\nline 2</tool>';
const details = (id: string) =>
  `<details type="tool_calls" done="true" id="${id}" name="f" arguments="&quot;{}&quot;" result="&quot;x&quot;" files="" embeds="">
<summary>Tool Executed</summary>
</details>`;

describe('the parser of tool call blocks', () => {
  const cases: readonly [string, string, string][] = [
    ['no block', 'Hi <b>there</b>', 'Hi <b>there</b>'],
    ['blocks between text', `Hi\n${start}\n${done}\nBye`, 'Hi\nBye'],
    ['blocks alone', `${start}\n${done}\n`, ''],
    ['a block at the end', `Hi\n${done}`, 'Hi'],
    ['an interrupted one', 'Hi\n<tool id="12" state="done">(interrupted)</tool>\n', 'Hi\n'],
    ['details', `Hi\n${details('a')}\n${details('b')}\nBye`, 'Hi\nBye'],
    ['a block within a line', `Hi ${start}\nBye`, `Hi ${start}\nBye`],
    ['a block with text after it', `${start} Bye`, `${start} Bye`],
    ['other details', '<details>\n<summary>x</summary>\n</details>', '<details>\n<summary>x</summary>\n</details>'],
    ['another tag', '<tool id="x" state="start">f()</tool>', '<tool id="x" state="start">f()</tool>'],
    ['an open block', `<tool id="1" state="done">f()\nx`, `<tool id="1" state="done">f()\nx`],
    ['a block within a block', `<tool id="1" state="done">f()\n${start}\nx</tool>\nBye`, 'Bye'],
  ];
  it.each(cases)('removes the block: %s', (_, text, left) => {
    expect(withoutBlocks(text)).toBe(left);
  });

  it('splits a text into blocks with the ids of their calls', () => {
    expect(splitBlocks(`Hi\n${details('call_1')}\n${details('a&amp;b')}\nthen\n${done}\n${details('c')}`)).toEqual([
      { type: 'text', text: 'Hi' },
      { type: 'call', id: 'call_1' },
      { type: 'call', id: 'a&b' },
      { type: 'text', text: 'then' },
      { type: 'call', id: 'c' },
    ]);
  });

  it('leaves no block in any text after one pass', () => {
    const line = fc.constantFrom(
      ...[start, '<tool id="1" state="done">f()', 'x</tool>', '</tool>', '<tool id="2" state="start">'],
      ...[
        details('a'),
        details('a').split('\n')[0] ?? '',
        '<summary>Tool Executed</summary>',
        '</details>',
        'x',
        '',
        '<',
      ],
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 14 }), (lines) => {
        const once = withoutBlocks(lines.join('\n'));
        expect(withoutBlocks(once)).toBe(once);
      }),
      { numRuns: 2_000 },
    );
  });

  it('removes everything that a response shows of any call', () => {
    const text = fc.string({ unit: 'binary' });
    const formats = fc.constantFrom('inline' as const, 'open-webui' as const);
    fc.assert(
      fc.property(fc.tuple(text, text, text), formats, ([key, value, result], format) => {
        const about = { args: JSON.stringify({ [key]: value }), result };
        const log = story(asks('Hi', { ...weather, ...about }), textRound('Bye'));
        const answer = contentOf(readAnswer([eventsOf(log)], { format }));
        expect(withoutBlocks(answer)).toBe('Hi\nBye');
        expect(splitBlocks(answer).filter(({ type }) => type === 'call')).toHaveLength(format === 'inline' ? 0 : 1);
      }),
    );
  });

  it('searches the largest allowed text in time', () => {
    const openings = '<tool id="1" state="done">\n'.repeat(70_000);
    const halves = `${details('a').slice(0, -11)}\n`.repeat(25_000);
    expect(withoutBlocks(openings)).toBe(openings);
    expect(withoutBlocks(halves)).toBe(halves);
    expect(withoutBlocks(`${openings}${'</tool>\n'.repeat(70_000)}`)).toBe('');
    expect(withoutBlocks(`${halves}${'</details>\n'.repeat(25_000)}`)).toBe('');
  });
});
