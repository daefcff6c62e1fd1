import { describe, expect, it } from '@jest/globals';

import type { JobEvent, NewJobEvent } from '#jobs';
import { Redactor, Secret } from '#platform';

import {
  asks,
  contentOf,
  eventsOf,
  oneByOne,
  plainTerms,
  readAnswer,
  snapshotOf,
  stopAfter,
  story,
  takeItem,
  textRound,
  usageOf,
  weather,
} from '../../../../../test/harness/answer-reading.js';
import {
  asLog,
  buildStory,
  completed,
  finishedAs,
  type StoryCall,
} from '../../../../../test/harness/answer-stories.js';
import { splitBlocks } from '../request/tool-blocks.js';
import { AnswerReader } from './answer-reader.js';
import type { CallSecrets } from './call-text.js';

function redactionOf(secret: string): Pick<CallSecrets, 'redact' | 'redactCut'> {
  const redactor = new Redactor([new Secret(secret)]).everything;
  return { redact: (text) => redactor.redact(text), redactCut: (text) => redactor.redactCut(text) };
}

describe('AnswerReader with an invalid tool name', () => {
  it('escapes line breaks and markup of a call in a block of Open WebUI', () => {
    const odd = { ...weather, id: 'a"\n<b>', name: 'x" y="\r\n</details>\u2028' };
    const sent = contentOf(readAnswer(oneByOne(story(asks('', odd), textRound('Done.'))), { format: 'open-webui' }));
    expect(sent.split('\n')).toEqual([
      expect.stringMatching(
        /^<details [^<>]* id="a&quot;&#10;&lt;b&gt;" name="x&quot; y=&quot;&#13;&#10;&lt;[^<>]*&#8232;" [^<>]*>$/,
      ),
      '<summary>Tool Executed</summary>',
      '</details>',
      'Done.',
    ]);
    expect(splitBlocks(sent)).toEqual([
      { type: 'call', id: odd.id },
      { type: 'text', text: 'Done.' },
    ]);
  });
});

describe('AnswerReader with inline tool calls', () => {
  const sent = (call: Partial<StoryCall>) =>
    contentOf(readAnswer(oneByOne(story(asks('Hm', { ...weather, ...call }), textRound('Done.')))));

  it('writes the start and the end of a call on lines of their own', () => {
    const signature = 'weather(city=Paris, days=2)';
    const blocks = `Hm\n<tool id="1" state="start">${signature}</tool>\n<tool id="1" state="done">${signature}\nSunny</tool>\nDone.`;
    expect(sent({})).toBe(blocks);
    expect(sent({ statuses: ['completed'] })).toBe(blocks);
    expect(sent({ statuses: ['awaiting_approval', 'running', 'pending', 'running', 'completed'] })).toBe(blocks);
  });

  it('writes each call in one piece', () => {
    const parts = readAnswer([eventsOf(story(asks('Hm', weather), textRound('Done.')))]);
    expect(parts.map((part) => part.type)).toEqual(['content', 'content', 'content', 'content', 'end']);
  });

  it('writes a call once when it never ran', () => {
    const refused = { statuses: ['denied'], error: 'Tool execution rejected by user' };
    expect(sent(refused)).toBe(
      'Hm\n<tool id="1" state="done">weather(city=Paris, days=2)\nTool execution rejected by user</tool>\nDone.',
    );
    expect(sent({ statuses: ['skipped'] })).toContain('Tool &quot;weather&quot; is not registered on server.</tool>');
  });

  it('reports the failure of a call', () => {
    for (const status of ['error', 'timed_out', 'interrupted'])
      expect(sent({ statuses: ['running', status], error: 'No <luck>' })).toContain('\nError: No &lt;luck&gt;</tool>');
  });

  it('truncates and escapes the arguments of a call', () => {
    expect(sent({ args: '{}' })).toContain('>weather()</tool>');
    expect(sent({ args: '' })).toContain('>weather()</tool>');
    expect(sent({ args: 'not {json' })).toContain('>weather(not {json)</tool>');
    expect(sent({ args: '{"a":[1,{"b":"<"}],"c":"x\'y\\"&"}' })).toContain(
      '>weather(a=[1,{&quot;b&quot;:&quot;&lt;&quot;}], c=x&#x27;y&quot;&amp;)<',
    );
    expect(sent({ args: JSON.stringify({ a: 'x'.repeat(300), b: 1 }) })).toContain(
      `>weather(a=${'x'.repeat(250)}, b=1)<`,
    );
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, 'y'.repeat(200)]));
    expect(/weather\((.*)\)<\/tool>/.exec(sent({ args: JSON.stringify(many) }))?.[1]).toHaveLength(1_200);
    expect(sent({ result: 'r'.repeat(600) })).toContain(`\n${'r'.repeat(500)}</tool>`);
    expect(sent({ result: `${'r'.repeat(499)}😀` })).toContain(`\n${'r'.repeat(499)}</tool>`);
  });

  it('redacts secrets', () => {
    const redact = (text: string) => text.replaceAll('Sunny', '***');
    const secrets = { sensitiveFieldsOf: () => ['city'], redact, redactCut: redact };
    const log = story(asks('', { ...weather, args: '{"city":"Paris","token":"t0k"}' }), textRound('.'));
    const text = contentOf(readAnswer(oneByOne(log), { secrets }));
    expect(text).toContain('(city=***, token=***)\n***</tool>');
  });

  it('redacts a secret at the end of the shown result and of a shown argument completely', () => {
    const secret = 'correct-horse-battery-staple-'.repeat(9);
    const secrets = { ...plainTerms.secrets, ...redactionOf(secret) };
    const long = `${'x'.repeat(240)}${secret}${'y'.repeat(60_000)}`;
    const call = { ...weather, args: JSON.stringify({ a: long }), result: `${'x'.repeat(250)}${long}` };
    const text = contentOf(readAnswer(oneByOne(story(asks('', call), textRound('.'))), { secrets }));
    expect(text).toContain(`weather(a=${'x'.repeat(240)}[redacted])\n${'x'.repeat(490)}[redacted]</tool>`);
  });

  it('redacts only the part of a long result and of long arguments that can be shown', () => {
    const lengths: number[] = [];
    const redact = (text: string) => {
      lengths.push(text.length);
      return text;
    };
    const secrets = { sensitiveFieldsOf: () => [], redact, redactCut: redact };
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, 'value']));
    const call = { ...weather, args: JSON.stringify(many), result: 'x'.repeat(250_000) };
    readAnswer(oneByOne(story(asks('', call), textRound('.'))), { secrets });
    expect(Math.max(...lengths)).toBeLessThan(34_000);
    expect(lengths.length).toBeLessThan(1_000);
  });

  it('takes a snapshot in one step for each call', () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ ...weather, id }));
    const item = snapshotOf(story(asks('', ...calls), textRound('.')));
    const steps = new AnswerReader(plainTerms).take(item);
    for (const { id } of calls) expect([id, steps.next()]).toEqual([id, { done: false, value: undefined }]);
    expect(steps.next()).toEqual({ done: true, value: readAnswer([item]) });
  });

  it('numbers calls through the response, parallel ones in the order of their start', () => {
    const [a, b] = [
      { ...weather, id: 'a' },
      { ...weather, id: 'b', args: '{"city":"Rome"}' },
    ];
    const text = contentOf(
      readAnswer(oneByOne(story(asks('', a, b), asks('', { ...weather, id: 'c' }), textRound('.')))),
    );
    const marks = [...text.matchAll(/id="(\d)" state="(\w+)"/g)].map(([, id, state]) => `${id ?? ''} ${state ?? ''}`);
    expect(marks).toEqual(['1 start', '2 start', '1 done', '2 done', '3 start', '3 done']);
  });

  it('shows a call as interrupted when the job ends before it', () => {
    const open = { ...weather, statuses: ['running'] };
    const log = asLog([
      ...buildStory([asks('', open, { ...open, id: 'b', statuses: ['awaiting_approval'] })]),
      finishedAs('failed', 'x'),
    ]);
    expect(contentOf(readAnswer(oneByOne(log)))).toBe(
      `<tool id="1" state="start">weather(city=Paris, days=2)</tool>\n<tool id="1" state="done">(interrupted)</tool>\n<tool id="2" state="done">(interrupted)</tool>\n`,
    );
  });
});

describe('AnswerReader with calls for Open WebUI', () => {
  it('writes one block when a call has ended', () => {
    const log = story(asks('Hm', { ...weather, args: '{"q":"it\'s \\"<b>\\""}', result: 'a\nb' }), textRound('Done.'));
    const block = [
      '<details type="tool_calls" done="true" id="call_1" name="weather"',
      ' arguments="&quot;{\\&quot;q\\&quot;:\\&quot;it&#x27;s \\\\\\&quot;&lt;b&gt;\\\\\\&quot;\\&quot;}&quot;"',
      ' result="&quot;a\\nb&quot;" files="" embeds="">\n<summary>Tool Executed</summary>\n</details>',
    ].join('');
    for (const items of [oneByOne(log), [eventsOf(log)], [snapshotOf(log)]])
      expect(contentOf(readAnswer(items, { format: 'open-webui' }))).toBe(`Hm\n${block}\nDone.`);
  });
});

describe('AnswerReader with strict tool calls', () => {
  const strict = { format: 'openai' } as const;
  const forClient = (id: string): StoryCall => ({ ...weather, id, statuses: ['awaiting_client'] });
  const opened = (id: string, kind = 'client_tool'): NewJobEvent => {
    const request = { tool: 'weather', callId: id, arguments: weather.args };
    const body = { interruptId: `i-${id}`, kind, callId: id, title: '', expiresAt: null, request };
    return { type: 'interrupt-opened', body };
  };
  const resolved = (id: string): NewJobEvent => {
    return { type: 'interrupt-resolved', body: { interruptId: `i-${id}`, outcome: 'done', decidedAt: 0 } };
  };
  const waiting = (...ids: string[]): NewJobEvent => {
    return { type: 'job-waiting', body: { interruptIds: ids.map((id) => `i-${id}`) } };
  };
  const moved = (call: StoryCall, status: string): NewJobEvent => {
    const sent = buildStory([asks('', { ...call, statuses: ['pending', status] })]).at(-1);
    if (sent === undefined) throw new Error('it sent nothing');
    return sent;
  };
  const toCall = (id: string) => ({ id, name: 'weather', arguments: weather.args });
  const pause = (...ids: string[]) => [
    { type: 'tool-calls', calls: ids.map(toCall) },
    { type: 'end', finishReason: 'tool_calls', usage: usageOf(1), error: null },
  ];

  it('reports a server call only in a comment', () => {
    const log = story(asks('Hm', weather), textRound('Done.'));
    expect(readAnswer([eventsOf(log)], strict)).toEqual([
      { type: 'content', text: 'Hm' },
      { type: 'comment', text: 'running weather' },
      { type: 'content', text: 'Done.' },
      stopAfter(2),
    ]);
  });

  const paused = asLog([
    ...buildStory([asks('Hm', forClient('a'), forClient('b'))]),
    ...[opened('a'), opened('b'), waiting('a', 'b')],
  ]);
  const afterwards = asLog(
    [moved(forClient('a'), 'completed'), resolved('a'), moved(forClient('b'), 'completed'), resolved('b')],
    paused.length,
  );
  const further: readonly JobEvent[] = [
    ...afterwards,
    ...asLog([{ type: 'job-requeued', body: { reason: 'answered' } }], paused.length + afterwards.length),
  ];

  it('ends the response with client calls once the job waits for nothing else', () => {
    const parts = [{ type: 'content', text: 'Hm' }, ...pause('a', 'b')];
    for (const items of [oneByOne(paused), [eventsOf(paused)], [snapshotOf(paused)]])
      expect(readAnswer(items, strict)).toEqual(parts);
    expect(readAnswer([eventsOf([...paused, ...further])], strict)).toEqual(parts);
    expect(readAnswer([eventsOf(paused.slice(0, 4)), snapshotOf(paused)], strict)).toEqual(parts);
  });

  it('sends settled client calls again when that response is requested again', () => {
    const rounds = [
      ...buildStory([asks('Hm', forClient('a')), textRound('Done.')]),
      opened('a'),
      resolved('a'),
      moved(forClient('a'), 'completed'),
    ];
    for (const log of [asLog(rounds), asLog([...rounds, completed])])
      expect(readAnswer([snapshotOf(log)], strict)).toEqual([{ type: 'content', text: 'Hm' }, ...pause('a')]);
    const later = readAnswer([snapshotOf(asLog([...rounds, completed]))], { ...strict, afterRound: 1 });
    expect(later).toEqual([{ type: 'content', text: 'Done.' }, stopAfter()]);
  });

  it('ends the response with client calls only after the server calls have ended', () => {
    const [server, approved] = [
      { ...weather, id: 's', statuses: ['awaiting_approval'] },
      { ...weather, id: 's' },
    ];
    const log = asLog([
      ...buildStory([asks('', forClient('a'), server)]),
      ...[opened('a'), opened('s', 'tool_approval'), waiting('a', 's'), resolved('s')],
      { type: 'job-requeued', body: { reason: 'answered' } },
      { type: 'job-started', body: { epoch: 2 } },
      ...[moved(approved, 'running'), moved(approved, 'completed'), waiting('a')],
    ]);
    const reader = new AnswerReader({ ...plainTerms, ...strict });
    const parts = log.map((event) => [event, takeItem(reader, eventsOf([event])), reader.waitsFor] as const);
    expect(parts.flatMap(([, sent]) => sent)).toEqual([
      { type: 'comment', text: 'waiting approval i-s' },
      { type: 'comment', text: 'running weather' },
      ...pause('a'),
    ]);
    expect(parts.filter(([, , ids]) => ids.length > 0).map(([{ type }]) => type)).toEqual([
      'interrupt-opened',
      'job-waiting',
    ]);
  });

  it('keeps the response open while a client runs the call', () => {
    const claimed = asLog([...buildStory([asks('', forClient('a'))]), opened('a'), moved(forClient('a'), 'running')]);
    expect(readAnswer(oneByOne(claimed), strict)).toEqual([]);
  });

  it('omits client calls of an earlier round', () => {
    const next = asLog([...buildStory([asks('Hm', forClient('a')), textRound('Done.')]).slice(3), completed], 9);
    const settled = asLog([moved(forClient('a'), 'completed'), resolved('a')], 7);
    const log = [...settled, ...next];
    expect(readAnswer([eventsOf(log)], { ...strict, afterRound: 1 })).toEqual([
      { type: 'content', text: 'Done.' },
      stopAfter(),
    ]);
  });
});

describe('AnswerReader with requests to people', () => {
  it('sends a comment while the job waits for a person, in every format', () => {
    const request = { tool: 'weather' };
    const body = { interruptId: 'i1', kind: 'tool_approval', callId: 'call_1', title: '', expiresAt: null, request };
    const log = asLog([
      ...buildStory([asks('Hm', { ...weather, statuses: ['awaiting_approval'] })]),
      { type: 'interrupt-opened', body },
    ]);
    for (const format of ['inline', 'open-webui', 'openai'] as const)
      for (const items of [oneByOne(log), [snapshotOf(log)]]) {
        const reader = new AnswerReader({ ...plainTerms, format });
        const parts = items.flatMap((item) => takeItem(reader, item));
        expect(parts.slice(-1)).toEqual([{ type: 'comment', text: 'waiting approval i1' }]);
        expect(reader.waitsFor).toEqual(['i1']);
      }
  });

  it('sends no comment when the interrupt is addressed to no person', () => {
    const body = { interruptId: 'i1', kind: 'wait', title: '', expiresAt: null, request: { until: 1 } };
    const log = asLog([...buildStory([textRound('Hm')]), { type: 'interrupt-opened', body }]);
    for (const format of ['inline', 'open-webui', 'openai'] as const)
      for (const items of [oneByOne(log), [snapshotOf(log)]]) {
        const reader = new AnswerReader({ ...plainTerms, format });
        const parts = items.flatMap((item) => takeItem(reader, item));
        expect(parts.filter(({ type }) => type === 'comment')).toEqual([]);
        expect(reader.waitsFor).toEqual([]);
      }
  });
});
