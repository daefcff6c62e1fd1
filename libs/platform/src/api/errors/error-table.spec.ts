import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { AppError } from '../../errors/app-error.js';
import { errorRowOf, errorTable, isExpected } from './error-table.js';

/** Codes that end a job, a start of the server, a command or a tool, and never a request. */
const neverInARequest = new Set([
  'OUTPUT_LIMIT',
  'aborted',
  'address_refused',
  'agent_gone',
  'already_running',
  'backup_exists',
  'backup_folder_missing',
  'backup_not_allowed',
  'backup_too_new',
  'data_dir_version',
  'database_in_use',
  'database_not_empty',
  'database_role_not_ready',
  'embedded_postgres_unavailable',
  'invalid_schema',
  'invalid_tool',
  'migration_changed',
  'migration_failed',
  'migration_not_allowed',
  'not_a_backup',
  'orphan_postgres',
  'pg_tool_failed',
  'pg_tools_missing',
  'plugin_refused',
  'port_taken',
  'postgres_too_old',
  'restore_not_allowed',
  'round_limit',
  'secret_missing',
  'secret_unreadable',
  'tool_answer_refused',
  'tool_call_changed',
  'tool_outcome_unknown',
  'workflow_gone',
  'workflow_not_runnable',
]);

/** Every `code: '…'` in the error files of libraries and endpoints. */
function codesInSource(): string[] {
  const files = ['libs', 'apps/api'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      // Errors of `/v1` have a table of their own.
      .filter((name) => name.endsWith('.errors.ts') && !/generated|^src\/openai\//.test(name))
      .map((name) => join(folder, name)),
  );
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/code: '([A-Za-z_]+)'/g)].map((match) => match[1] ?? ''),
  );
}

describe('error table', () => {
  it('contains a row for every code that a request can end with', () => {
    const unknown = codesInSource().filter((code) => !neverInARequest.has(code) && !/^(model|outbound)_/.test(code));
    expect(unknown.filter((code) => !errorRowOf(code).isKnown)).toEqual([]);
  });

  it('treats an unknown code as internal', () => {
    expect(errorRowOf('toString')).toEqual({ status: 500, graphql: 'INTERNAL', isKnown: false });
  });

  it('shows the messages of known codes only', () => {
    expect(isExpected(new AppError({ code: 'not_found', message: 'x' }))).toBe(true);
    expect(isExpected(new AppError({ code: 'surprise', message: 'x' }))).toBe(false);
    expect(isExpected(new AppError({ code: 'internal', message: 'x' }))).toBe(false);
    expect(isExpected(new Error('x'))).toBe(false);
  });

  it('maps codes to the statuses of the contract', () => {
    const statusOf = (code: keyof typeof errorTable) => errorTable[code].status;
    expect(statusOf('bad_request')).toBe(400);
    expect(statusOf('unauthenticated')).toBe(401);
    expect(statusOf('forbidden')).toBe(403);
    expect(statusOf('not_found')).toBe(404);
    expect(statusOf('thread_busy')).toBe(409);
    expect(statusOf('admission_cancelled')).toBe(409);
    expect(statusOf('start_in_flight')).toBe(409);
    expect(statusOf('too_large')).toBe(413);
    expect(statusOf('idempotency_key_mismatch')).toBe(422);
    expect(statusOf('rate_limited')).toBe(429);
    expect(statusOf('job_limit_reached')).toBe(503);
  });
});
