import { describe, expect, it } from '@jest/globals';

import { validateArguments } from './validate-arguments.js';

const tool = {
  name: 'x',
  parameters: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'number' }, kind: { enum: ['p', 'q'] } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
};

describe('validateArguments', () => {
  it('names all missing parameters at once', () => {
    expect(validateArguments(tool, '{}')).toEqual({ ok: false, message: 'Missing required parameters: a, b' });
    expect(validateArguments(tool, '{"a":"1"}')).toEqual({ ok: false, message: 'Missing required parameters: b' });
  });

  it('describes the problem of invalid arguments', () => {
    const message =
      'Error executing tool "x": invalid arguments: must NOT have additional properties: "c"; "b" must be number';
    expect(validateArguments(tool, '{"a":"1","b":"2","c":3}')).toEqual({ ok: false, message });
  });

  it('lists the allowed values', () => {
    const result = validateArguments(tool, '{"a":"1","b":2,"kind":"z"}');
    expect(result).toMatchObject({
      ok: false,
      message: expect.stringContaining('"kind" must be equal to one of') as unknown,
    });
  });

  it('refuses numbers that JSON cannot represent', () => {
    expect(validateArguments(tool, '{"a":"1","b":1e400}')).toMatchObject({ ok: false });
  });

  it('returns valid arguments, also repaired ones', () => {
    expect(validateArguments(tool, '{"b":2,"a":"1')).toEqual({ ok: true, value: { a: '1', b: 2 } });
  });
});
