import { describe, expect, it } from '@jest/globals';

import type { AdminClient } from './admin-client.js';
import { supportedVersion } from './server-version.js';

/** As far as it is asked. */
const server = (number: number, text: string) =>
  ({ query: () => Promise.resolve({ rows: [{ number, text }] }) }) as unknown as AdminClient;

describe('supportedVersion', () => {
  it('reads the version of a server', async () => {
    expect(await supportedVersion(server(180_004, '18.4 (Debian 18.4-1)'))).toEqual({ major: 18, text: '18.4' });
    expect(await supportedVersion(server(160_000, '16.0'))).toEqual({ major: 16, text: '16.0' });
  });

  it('rejects a server older than 16 with a remedy', async () => {
    await expect(supportedVersion(server(150_018, '15.18'))).rejects.toMatchObject({
      code: 'postgres_too_old',
      message: expect.stringMatching(
        /^The server of DATABASE_URL is Postgres 15\.18; .* 16 or newer\. Upgrade the server/,
      ),
    });
  });
});
