import { describe, expect, it } from '@jest/globals';
import { NightshiftError } from '@nightshift/client';

import { commandLine } from './command-line.js';
import type { Connection } from './connection.js';
import { toCliError } from './to-cli-error.js';

// As far as it is looked at.
const connection = { url: 'http://there', urlFrom: '--url', tokenFrom: '--token' } as Connection;
const remedyFor = (code: string, field?: string) =>
  toCliError(new NightshiftError('No', { code, field }), connection)?.remedyWith(commandLine('npx nightshift', {}));

describe('the hint for a refusal', () => {
  it.each([
    ['not_found', 'agent', 'npx nightshift agents'],
    ['not_found', 'workspaceId', 'List your invitations: npx nightshift invitations received'],
    ['bad_request', 'workspaceId', 'npx nightshift workspaces list\nThen name one with --workspace ID'],
    ['bad_request', 'tools', 'npx nightshift tools list'],
    ['job_limit_reached', undefined, 'End one: npx nightshift cancel JOB'],
    [
      'unauthenticated',
      undefined,
      'http://there does not accept the credential (from --token): it is unknown there, was revoked or has expired',
    ],
  ])('names a remedy for %s of the field %s', (code, field, remedy) => {
    expect(remedyFor(code, field)).toContain(remedy);
  });

  it('returns no hint for an unknown error', () => {
    expect(remedyFor('not_found', 'workflowId')).toBeUndefined();
  });
});
