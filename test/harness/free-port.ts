import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A free port of this machine, outside the ephemeral range, because the system may give an ephemeral port to another test. */
export async function freePort(): Promise<string> {
  for (let tries = 1; ; tries++) {
    const [server, port] = [createServer(), randomInt(20_000, 30_000)];
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    } catch (error) {
      if (tries === 10) throw error;
      continue;
    }
    server.close();
    await once(server, 'close');
    return String(port);
  }
}
