import { Writable } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { launch } from './launch.js';
import { Terminal } from './terminal/terminal.js';

interface Printed {
  readonly terminal: Terminal;
  text(): string;
}

function printed(): Printed {
  let text = '';
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  return { terminal: new Terminal(stream), text: () => text };
}

const starts = () => Promise.reject(new Error('a role started'));

describe('launch', () => {
  it.each([
    [['--port', '99999'], {}, '--port must be a whole number from 0 to 65535.'],
    [[], { CRASH_POINT: 'after-response:kill' }, 'NODE_ENV=test only'],
    [['--role', 'api', '--once'], {}, '--once runs the sample job'],
  ])('rejects %j with %j before it starts anything', async (words, environment, message) => {
    const [out, errors] = [printed(), printed()];
    const roles = { all: starts, api: starts, worker: starts, tools: starts };
    const code = await launch({
      ...{ words, environment, roles, logsGoToTerminal: false, stopsAtHangUp: false },
      ...{ out: out.terminal, errors: errors.terminal },
    });

    expect(code).toBe(2);
    expect(errors.text()).toContain(message);
    expect(out.text()).toBe('');
  });
});
