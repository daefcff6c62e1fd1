import { describe, expect, it } from '@jest/globals';

import { runNode } from '../../../../test/harness/nodes.js';

const agent = { type: 'agent', data: { model: 'm', prompt: 'Write.' } } as const;
const earlier = [
  { nodeId: 'start', label: 'Start', type: 'start', output: 'hello' },
  { nodeId: 'r', label: 'Router', type: 'router', output: 'hello' },
  { nodeId: 'quiet', label: 'Quiet', type: 'agent', output: '' },
  { nodeId: 'a', label: 'Researcher', type: 'agent', output: 'facts' },
];
const models = { '': ['answer'] };

describe('the model request of an agent', () => {
  it('consists of its prompt, the outputs of other nodes except routers, the session, and its input', async () => {
    const session = [
      { role: 'user', content: 'before' },
      { role: 'assistant', content: 'yes' },
    ] as const;
    const { outcome, record } = await runNode({ ...agent, earlier, session, models });
    expect(record.conversations[0]?.messages).toEqual([
      { role: 'system', content: 'Write.\n\nContext from previous agents:\n[Start]: hello\n\n[Researcher]: facts' },
      ...session,
      { role: 'user', content: 'hello' },
    ]);
    expect(outcome).toEqual({ type: 'finished', output: 'answer', handles: ['output'], handOn: 'output' });
  });

  it('names routers among the earlier outputs if `routerEcho` is set', async () => {
    const { record } = await runNode({ ...agent, earlier, models, meta: { compat: { routerEcho: true } } });
    expect(record.texts()[0]).toContain('[Router]: hello\n\n[Researcher]');
  });

  it('falls back to a sentence with its label without a prompt, and omits the context without earlier outputs', async () => {
    const { record } = await runNode({ ...agent, data: { model: 'm', label: 'Editor', prompt: ' ' }, models });
    expect(record.texts()).toEqual(['You are a helpful assistant named Editor.', 'hello']);
  });

  it.each([
    ['the same text of the user at the end of the session', [{ role: 'user', content: 'hello' }], ['Write.', 'hello']],
    ['another text of the user', [{ role: 'user', content: 'hi' }], ['Write.', 'hi', 'hello']],
    ['the same text of an assistant', [{ role: 'assistant', content: 'hello' }], ['Write.', 'hello', 'hello']],
    [
      'the same text, and an answer to it',
      [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'x' },
      ],
      ['Write.', 'hello', 'x', 'hello'],
    ],
  ] as const)('contains the input once: %s', async (_fact, session, texts) => {
    const { record } = await runNode({ ...agent, session, models });
    expect(record.texts()).toEqual(texts);
  });

  it('does not send an empty input to the model', async () => {
    const { record } = await runNode({ ...agent, input: '', models });
    expect(record.texts()).toEqual(['Write.']);
  });

  it.each([true, false])(
    'contains files, images if the model takes them (%s), and nothing else',
    async (takesImages) => {
      const attachments = [
        { type: 'image', url: 'https://x/i.png' },
        { type: 'file', url: 'https://x/f.pdf', name: 'f.pdf' },
        { type: 'audio', url: 'https://x/a.mp3', name: 'a.mp3' },
      ] as const;
      const ports = { modelTakes: () => Promise.resolve(takesImages) };
      const session = [{ role: 'user', content: 'hello' }] as const;
      const { record } = await runNode({ ...agent, attachments, session, models, ports });
      const image = [{ type: 'image_url', image_url: { url: 'https://x/i.png' } }];
      expect(record.texts()).toEqual([
        'Write.',
        [
          { type: 'text', text: 'hello' },
          ...(takesImages ? image : []),
          { type: 'file', file: { filename: 'f.pdf', file_data: 'https://x/f.pdf' } },
        ],
      ]);
      expect(record.warnings).toHaveLength(takesImages ? 1 : 2);
      expect(record.warnings.join()).toContain(
        'ATTACHMENT_DROPPED: The model does not take the attached audio "a.mp3"',
      );
    },
  );
});

describe('the tools of an agent', () => {
  it.each([
    ['none, unless they are named', undefined, undefined, []],
    ['those of the document, where it has none', [], ['a', 'b'], ['a', 'b']],
    ['its own, where it has some', ['c'], ['a'], ['c']],
    ['all, when the node lists *', ['*'], undefined, ['*']],
    ['all, when the document lists *', undefined, ['*'], ['*']],
  ])('include %s', async (...[, tools, metaTools, expected]) => {
    const data = { ...agent.data, tools };
    const { record } = await runNode({
      ...agent,
      data,
      models,
      meta: metaTools === undefined ? {} : { tools: metaTools },
    });
    expect(record.conversations[0]?.tools).toEqual(expected);
  });
});

describe('the model call of an agent', () => {
  it('carries the parameters of the node', async () => {
    const data = {
      model: 'm',
      temperature: 0.5,
      maxTokens: 100,
      parallelToolCalls: false,
      toolChoice: { type: 'function', function: { name: 'find' } },
      modelRequest: { top_p: 0.9, temperature: 1 },
      structuredOutput: { type: 'object', properties: {} },
    };
    const { record } = await runNode({ type: 'agent', data, models });
    expect(record.conversations[0]).toMatchObject({
      model: 'm',
      isShown: true,
      toolChoice: { type: 'function', function: { name: 'find' } },
      maxIterations: 10,
    });
    expect(record.conversations[0]?.parameters).toEqual({
      top_p: 0.9,
      temperature: 0.5,
      max_tokens: 100,
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'output', schema: { type: 'object', properties: {} } },
      },
    });
  });

  it.each([
    [{ type: 'json_object' }, { type: 'json_object' }],
    [
      { name: 'plan', schema: {}, strict: true },
      { type: 'json_schema', json_schema: { name: 'plan', schema: {}, strict: true } },
    ],
  ])('sets the response format %j', async (structuredOutput, expected) => {
    const { record } = await runNode({ type: 'agent', data: { model: 'm', structuredOutput }, models });
    expect(record.conversations[0]?.parameters).toEqual({ response_format: expected });
  });
});

describe('an agent at its tool limit', () => {
  const limit = { type: 'limit', text: 'so far' } as const;
  const at = (mode: string) => ({ ...agent, data: { ...agent.data, maxToolIterations: 3, onMaxToolIterations: mode } });
  const done = { type: 'finished', handles: ['output'], handOn: 'output' };

  it('completes with a warning if the mode is `warning`', async () => {
    const { outcome, record } = await runNode({ ...at('warning'), models: { '': [limit] } });
    const output = 'Warning: Maximum tool iterations (3) reached. Last content: so far';
    expect(outcome).toEqual({ ...done, output });
    expect(record.conversations[0]?.maxIterations).toBe(3);
  });

  it('fails if the mode is `error`', async () => {
    await expect(runNode({ ...at('error'), models: { '': [limit] } })).rejects.toThrow(
      'Maximum tool iterations (3) reached. Execution stopped.',
    );
  });

  it('asks a person if the mode is `hitl`', async () => {
    const { outcome, record } = await runNode({
      ...at('hitl'),
      models: { '': [limit] },
      people: { 'tool-limit': 'waiting' },
    });
    expect(outcome).toEqual({ type: 'waiting', interruptIds: ['tool-limit'] });
    expect(record.questions[0]).toMatchObject({
      requestId: 'hitl-tool-limit-n-1700000000000',
      mode: 'approval',
      options: [
        { id: 'continue', action: 'approve' },
        { id: 'stop', action: 'reject' },
      ],
    });
  });

  it.each([
    ['approve', [limit, 'the end'], 'the end'],
    [
      'approve',
      [limit, { type: 'limit', text: 'later' }],
      'Warning: Maximum tool iterations (3) reached again after HITL approval. Last content: later',
    ],
    ['reject', [limit], 'Tool iteration stopped by user at 3 iterations. Last content: so far'],
    ['skip', [limit], 'Tool iteration stopped by user at 3 iterations. Last content: so far'],
  ] as const)('follows the decision of the person: %s', async (action, replies, output) => {
    const { outcome, record } = await runNode({
      ...at('hitl'),
      models: { '': replies },
      people: { 'tool-limit': { action, data: undefined } },
    });
    expect(outcome).toEqual({ ...done, output });
    // One conversation: what it has committed counts.
    expect(record.conversations.map(({ maxIterations }) => maxIterations)).toEqual(action === 'approve' ? [3, 6] : [3]);
  });
});
