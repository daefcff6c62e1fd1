import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';

import { type NightshiftProcess, startProcess } from '../harness/processes.js';

const root = process.cwd();
const text = readFileSync(join(root, 'docs', 'workspaces.md'), 'utf8');
const examples = [...text.matchAll(/<!-- example: (\S+) -->\s+```sh\n([^]*?)\n```/g)];
const jwt = { JWT_SECRET: 'the secret that signs the tokens of the page', JWT_ISSUER: 'https://login.example.com' };

/** A new user's path, by the real command line: a server with its own Postgres, and a folder that is not the checkout. */
describe('docs/workspaces.md examples', () => {
  let folder: string;
  let server: NightshiftProcess;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-workspaces-'));
    mkdirSync(join(folder, 'bin'));
    symlinkSync(join(root, 'node_modules', '.bin', 'nightshift'), join(folder, 'bin', 'nightshift'));
    server = await startProcess({ role: 'all', env: jwt, flags: ['--data-dir', join(folder, '.nightshift')] });
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const tokenOf = (name: string, claims = {}) =>
    new SignJWT({ iss: jwt.JWT_ISSUER, sub: name, email: `${name}@example.com`, email_verified: true, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(jwt.JWT_SECRET));

  const inShell = async (script: string) => {
    const bin = join(root, 'node_modules', '.bin');
    const tokens = { ADA_TOKEN: await tokenOf('ada'), GRACE_TOKEN: await tokenOf('grace') };
    const env = { PATH: `${join(folder, 'bin')}:${bin}:${process.env['PATH'] ?? ''}`, ...jwt, ...tokens };
    const lines = script.replaceAll('npx nightshift', 'nightshift');
    return promisify(execFile)('bash', ['-ec', lines], { cwd: folder, env });
  };

  it('lead from an empty installation to a personal API key', async () => {
    const { stdout } = await inShell(examples.map(([, , script]) => script).join('\n'));
    for (const wanted of [
      /^signed with HS256, checked against JWT_SECRET/m,
      /^created Acme: [\w-]{36}$/m,
      /^ada@example\.com +owner/m,
      /^invited grace@example\.com as admin: [\w-]{36}$/m,
      /^Acme +admin +ada@example\.com /m,
      /^joined [\w-]{36} as admin$/m,
      /^[\w-]{36} +admin +Acme$/m,
    ])
      expect(stdout).toMatch(wanted);
    expect(stdout.match(/^nsk_[a-z0-9]{12}_[\w-]{43}$/gm)).toHaveLength(2);
  });

  it('log the reason for a refused token and never the token', async () => {
    const token = await tokenOf('eve', { iss: 'https://evil.example' });
    const failed = inShell(`NIGHTSHIFT_TOKEN=${token} nightshift workspaces list`);
    await expect(failed).rejects.toMatchObject({ code: 3 });
    expect(server.logs().find(({ msg }) => msg === 'a token was refused')).toMatchObject({
      reason: 'claim',
      detail: 'the claim "iss" is "https://evil.example", expected "https://login.example.com"',
    });
    expect(server.output()).not.toContain(token.split('.')[2]);
  });

  it('refuse to start on a database of another secret', async () => {
    const url = `${server.url ?? ''}/graphql`;
    expect(url).toMatch(/^http/);
    const secret = 'NIGHTSHIFT_SECRET=another-secret-of-at-least-32-characters';
    await expect(inShell(`${secret} nightshift admin users list`)).rejects.toMatchObject({
      stderr: expect.stringContaining('NIGHTSHIFT_SECRET is not the secret of this database'),
    });
    await expect(inShell('nightshift admin secret rotate')).rejects.toMatchObject({
      stderr: expect.stringContaining('Stop it first'),
    });
    const { stdout } = await inShell('NIGHTSHIFT_TOKEN=$ADA_TOKEN nightshift workspaces list');
    expect(stdout).toMatch(/owner +Acme/);
  });
});
