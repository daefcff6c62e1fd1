import { describe, expect, it } from '@jest/globals';

import type { ToolDefinition } from '#models';

import { OpenAiError } from '../../errors/openai-error.js';
import { chooseMode, type ModeQuestion, toIgnoredHeader, withoutServerTools } from './choose-mode.js';

const tool = (name: string): ToolDefinition => ({ type: 'function', function: { name } });
const choice = { type: 'function', function: { name: 'f' } } as const;

interface Asked extends Partial<Omit<ModeQuestion, 'headers' | 'request'>> {
  readonly headers?: Partial<ModeQuestion['headers']>;
  readonly request?: Partial<ModeQuestion['request']>;
}
const choose = ({ headers, request, isWorkflow = false, answersPending = false }: Asked) =>
  chooseMode({
    headers: { format: null, sessionId: null, ...headers },
    request: { tools: [], toolChoice: null, ignored: [], ...request },
    isWorkflow,
    answersPending,
  });

function refusal(asked: Asked): unknown {
  try {
    choose(asked);
  } catch (error) {
    return error instanceof OpenAiError ? [error.status, error.message, error.param] : error;
  }
  return 'accepted';
}

describe('chooseMode', () => {
  const tools = [tool('f')];
  const session = { sessionId: 's' };
  it.each<[string, Asked, object]>([
    ['takes the mode of the agent without a header', {}, { format: null, strictBy: null, ignored: [] }],
    ['chooses strict when there are functions', { request: { tools } }, { format: 'openai', strictBy: 'body', tools }],
    [
      'chooses strict when the request has results of calls',
      { answersPending: true },
      { format: 'openai', strictBy: 'body', tools: [] },
    ],
    [
      'chooses strict by its header',
      { headers: { format: 'openai', ...session }, request: { tools } },
      { format: 'openai', strictBy: 'header', tools },
    ],
    [
      'chooses inline by its header, and ignores functions',
      { headers: { format: 'inline' }, request: { tools, toolChoice: choice, ignored: ['x'] } },
      { format: 'inline', strictBy: null, tools: [], toolChoice: null, ignored: ['x', 'tools'] },
    ],
    [
      'leaves the choice of a tool that is not the client’s',
      { headers: { format: 'open-webui' }, request: { tools: [tool('g')], toolChoice: choice } },
      { format: 'open-webui', toolChoice: choice, ignored: ['tools'] },
    ],
    [
      'of a workflow is not strict, and functions are ignored',
      { isWorkflow: true, request: { tools }, answersPending: true },
      { format: null, strictBy: null, tools: [], ignored: ['tools'] },
    ],
  ])('%s', (_, asked, mode) => {
    expect(choose(asked)).toMatchObject(mode);
  });

  it('refuses the format `openai` without a session, and for a workflow', () => {
    expect(refusal({ headers: { format: 'openai' } })).toEqual([
      400,
      'X-Session-Id header is required for x-tool-event-format=openai',
      'x-session-id',
    ]);
    expect(refusal({ headers: { format: 'openai', ...session }, isWorkflow: true })).toEqual([
      400,
      'x-tool-event-format=openai is only supported for single-agent models',
      'model',
    ]);
  });

  it.each<[string, readonly ToolDefinition[], string]>([
    ['of one name', [tool('f'), tool('f')], 'tools[1].function.name: "f" is the name of an earlier function'],
    [
      'of no valid name',
      [tool('no name')],
      'tools[0].function.name: a name is 1 to 64 of letters, digits, "_", "-" and "."',
    ],
    [
      'that are too many',
      Array.from({ length: 129 }, (_, i) => tool(`f${i}`)),
      'tools: at most 128 functions fit in a request',
    ],
    [
      'that are too long together',
      [{ type: 'function', function: { name: 'f', description: 'x'.repeat(262_144) } }],
      'tools: they are longer than 262144 characters together',
    ],
  ])('rejects functions %s', (_, tools, problem) => {
    expect(refusal({ request: { tools } })).toEqual([400, `Invalid request body: ${problem}`, null]);
  });

  it('accepts functions whose schema the server cannot compile', () => {
    const parameters = { type: ['object', 'null'], properties: { a: { type: 'no-type', pattern: '(?<=x)(' } } };
    const tools: ToolDefinition[] = [{ type: 'function', function: { name: 'f', parameters } }];
    expect(choose({ request: { tools } })).toMatchObject({ strictBy: 'body', tools });
  });

  it('removes functions whose names are tools of the server', () => {
    const mode = choose({ request: { tools: [tool('f'), tool('g')], toolChoice: choice } });
    expect(withoutServerTools(mode, new Set(['f', 'h']))).toEqual({
      ...mode,
      tools: [tool('g')],
      ignored: ['tools.f'],
    });
    expect(withoutServerTools(mode, new Set(['h']))).toBe(mode);
  });

  it('lists ignored fields that a header can contain', () => {
    expect(toIgnoredHeader([])).toBeNull();
    expect(toIgnoredHeader(['a', 'tools.f', 'b\r\nSet-Cookie: x', 'ü', ''])).toBe('a, tools.f');
  });
});
