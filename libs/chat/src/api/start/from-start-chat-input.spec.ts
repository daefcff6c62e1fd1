import { describe, expect, it } from '@jest/globals';

import { AppError } from '#platform';

import { toTools } from './from-start-chat-input.js';

type Given = Parameters<typeof toTools>[0];

function refusal(given: Given): unknown {
  try {
    return toTools(given);
  } catch (error) {
    return error instanceof AppError ? [error.code, error.field] : error;
  }
}

describe('tools of startChat', () => {
  it('contain only server tools when the input names no client tools', () => {
    expect(toTools({ tools: ['calculate'] })).toEqual({ tools: ['calculate'], toolRuntimes: {} });
    expect(toTools({})).toEqual({ tools: [], toolRuntimes: {} });
  });

  it('include the tools that the client declares, with its definitions', () => {
    const parameters = { type: 'object' };
    const given: Given = {
      tools: ['calculate'],
      clientTools: [
        { name: 'open_file', description: 'Opens it', parameters, timeoutMs: 5_000, onTimeout: 'skip', effect: 'pure' },
        { name: 'beep' },
      ],
      clientDeviceId: 'laptop',
    };
    expect(toTools(given)).toEqual({
      tools: [
        'calculate',
        { type: 'function', function: { name: 'open_file', description: 'Opens it', parameters } },
        { type: 'function', function: { name: 'beep' } },
      ],
      toolRuntimes: { open_file: 'client', beep: 'client' },
      client: {
        deviceId: 'laptop',
        tools: { open_file: { timeoutMs: 5_000, onTimeout: 'skip', effect: 'pure' }, beep: {} },
      },
    });
  });

  it('may come with a client that declares none of its own', () => {
    expect(toTools({ tools: ['a'], clientDeviceId: 'd' }).client).toEqual({ deviceId: 'd', tools: {} });
  });

  it.each([
    ['a wrong name', { clientTools: [{ name: 'open file' }] }, 'clientTools'],
    ['a wrong schema', { clientTools: [{ name: 'a', parameters: { type: 'object', required: 1 } }] }, 'clientTools'],
    ['a schema that is not an object', { clientTools: [{ name: 'a', parameters: [] }] }, 'clientTools'],
    ['one name for two', { clientTools: [{ name: 'a' }, { name: 'a' }] }, 'clientTools'],
    ['a name of the server too', { tools: ['a'], clientTools: [{ name: 'a' }] }, 'clientTools'],
    ['a timeout that is too short', { clientTools: [{ name: 'a', timeoutMs: 999 }] }, 'clientTools'],
    ['a timeout that is too long', { clientTools: [{ name: 'a', timeoutMs: 604_800_001 }] }, 'clientTools'],
    ['an empty device', { clientDeviceId: '' }, 'clientDeviceId'],
    ['an endless device', { clientDeviceId: 'x'.repeat(257) }, 'clientDeviceId'],
  ])('cause an error that names the invalid member: %s', (_, given, field) => {
    expect(refusal(given)).toEqual(['bad_request', field]);
  });
});
