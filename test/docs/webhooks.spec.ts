import { stripTypeScriptTypes } from 'node:module';

import { describe, expect, it } from '@jest/globals';

import { signatureHeaders } from '../../libs/triggers/src/signature.js';
import { documentExample } from '../harness/document-example.js';

type Verify = (secret: string, headers: Readonly<Record<string, string>>, body: string, now: number) => boolean;

describe('docs/webhooks.md', () => {
  it('shows how a consumer verifies the test vector of Standard Webhooks', async () => {
    const source = stripTypeScriptTypes(documentExample('docs/webhooks.md', 'verify'));
    // the module of the example exports it
    const example = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
      isFromNightshift: Verify;
    };
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const timestamp = 1_614_265_330;
    const body = '{"test": 2432232314}';
    const headers = signatureHeaders('standard', ['whsec_b3RoZXI=', secret], {
      ...{ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp, body },
    });
    const verify = (text: string, seconds: number) =>
      example.isFromNightshift(secret, headers, text, (timestamp + seconds) * 1_000);
    expect([verify(body, 0), verify(body, 299), verify(body, 301), verify(`${body} `, 0)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
