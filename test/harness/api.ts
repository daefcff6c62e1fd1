import type { Type } from '@nestjs/common';
import { SignJWT } from 'jose';

import { type Auth, type KeyScope, type MemberPrincipal, openAuth, type Role } from '#auth';
import { Config, createLogger, openPlatform, type Platform, Redactor } from '#platform';

import { type RunningApi, startApi } from '../../apps/api/src/start-api.js';
import { WorkerModule } from '../../apps/worker/src/worker.module.js';
import { Presence } from '../../libs/jobs/src/presence/presence.js';
import type { TestDatabase } from './database.js';
import { failAtOnce } from './fail-at-once.js';

const SECRET = 'the secret of the test databases';
const JWT_SECRET = 'the shared secret of the test tokens';
const JWT_ISSUER = 'https://issuer.example';
/** Long timeouts, so that a reply that a test blocks never times out on a slow machine. */
const longTimeouts = {
  TOOL_TIMEOUT_MS: '300000',
  MODEL_FIRST_BYTE_TIMEOUT_MS: '300000',
  MODEL_IDLE_TIMEOUT_MS: '300000',
};

export interface TestApiOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the process also runs jobs. */
  readonly takesJobs?: boolean;
  /** More modules of the application. */
  readonly modules?: readonly Type[];
}

/** A member of a workspace, with a bearer credential that has every scope of the role. */
export interface TestMember {
  readonly principal: MemberPrincipal;
  readonly key: string;
  /** The same user with a token: may do what no API key may, such as changing roles. */
  readonly person: MemberPrincipal;
}

/** Tenants, people and keys of a test API. */
export interface TestPeople {
  /** A new workspace with one member of each role; caps are wide. */
  workspaceOf(name: string): Promise<Record<Role, TestMember>>;
  /** Another key of a member. */
  keyOf(
    principal: MemberPrincipal,
    scopes: readonly KeyScope[],
    expiresAt?: number,
  ): Promise<TestMember & { readonly keyId: string }>;
  /** Invites the subject into the inviter's workspace, accepts as the subject, and enters it. */
  join(inviter: MemberPrincipal, subject: string, role: Role): Promise<MemberPrincipal>;
  /** A token of a member that `workspaceOf` created: `<name>-<role>`. Lasts `lifeSeconds`, an hour by default. */
  tokenOf(subject: string, lifeSeconds?: number): Promise<string>;
}

/** A whole API over a test database, on a free port of this machine. */
export interface TestApi {
  readonly api: RunningApi;
  readonly url: string;
  readonly platform: Platform;
  readonly auth: Auth;
  readonly people: TestPeople;
  /** Calls a route; `body` as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** May be called again. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** The bearer credential. */
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body, or its text when it is not JSON. */
  readonly body: unknown;
}

export async function startTestApi(database: TestDatabase, options: TestApiOptions = {}): Promise<TestApi> {
  const given = { NODE_ENV: 'test', MODEL_NAME: 'scripted', LOG_LEVEL: 'silent', JWT_SECRET, JWT_ISSUER };
  const config = Config.from({
    MODEL_BASE_URL: 'http://127.0.0.1:9/v1',
    ...failAtOnce,
    ...longTimeouts,
    ...given,
    // Tests send more refused requests than a client does.
    REFUSALS_PER_SECOND: '100000',
    ...options.env,
  });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const platform = await openPlatform({
    config,
    logger,
    redactor: new Redactor(),
    urls: database.urls,
    secret: SECRET,
  });
  const { prisma, bus } = platform;
  const fetchKeys = () => Promise.reject(new Error('no key set in this test'));
  const auth = openAuth({ config, prisma, bus, secret: SECRET, fetchKeys });
  const api = await startApi(platform, {
    host: '127.0.0.1',
    port: 0,
    auth,
    modules: [...(options.takesJobs === false ? [] : [WorkerModule]), ...(options.modules ?? [])],
  });
  // On a busy machine a viewer may need long before it counts as present.
  Reflect.set(api.app.get(Presence), 'timeoutMs', 100_000);
  let closing: Promise<void> | undefined;
  const close = async () => {
    await api.close();
    auth.close();
    await platform.close();
  };
  return {
    api,
    url: api.url,
    platform,
    auth,
    people: peopleOf(auth, database),
    call: (method, path, call = {}) => callRoute(new URL(path, api.url), { method, ...call }),
    close: () => (closing ??= close()),
  };
}

function peopleOf(auth: Auth, database: TestDatabase): TestPeople {
  const enter = async (subject: string, workspaceId?: string) =>
    auth.authenticator.authenticate({ authorization: `Bearer ${await tokenOf(subject, 3_600)}`, workspaceId });
  const keyOf = async (principal: MemberPrincipal, scopes: readonly KeyScope[], expiresAt?: number) => {
    const { key, text } = await auth.apiKeys.create(principal, { name: 'test', scopes, expiresAt });
    const entered = await auth.authenticator.authenticate({ authorization: `Bearer ${text}` });
    return { principal: entered, keyId: key.id, key: text, person: principal };
  };
  const join = async (principal: MemberPrincipal, subject: string, role: Role) => {
    const invitation = await auth.invitations.invite(principal, { email: `${subject}@example.org`, role });
    const authorization = `Bearer ${await tokenOf(subject, 3_600)}`;
    await auth.invitations.accept(await auth.authenticator.identify({ authorization }), invitation.id);
    return enter(subject, principal.workspaceId);
  };
  const workspaceOf = async (name: string) => {
    const identity = await auth.authenticator.identify({
      authorization: `Bearer ${await tokenOf(`${name}-owner`, 3_600)}`,
    });
    const { id } = await auth.workspaces.create(identity, { name });
    await database.postgres.withWorkspaceSql(id, (client) =>
      client.query('UPDATE workspace SET max_jobs = 10000, max_jobs_per_user = 10000 WHERE id = $1', [id]),
    );
    const owner = await enter(`${name}-owner`, id);
    const joined = (role: Role) => join(owner, `${name}-${role}`, role);
    const all = ['read', 'write', 'admin', 'approve'] as const;
    // A member's token has no `admin` scope to make keys with, and a viewer makes none at all: they come with tokens.
    const byToken = async (role: Role) => {
      const principal = await joined(role);
      return { principal, key: await tokenOf(`${name}-${role}`, 3_600), person: principal };
    };
    return {
      owner: await keyOf(owner, all),
      admin: await keyOf(await joined('admin'), all),
      member: await byToken('member'),
      viewer: await byToken('viewer'),
    };
  };
  const tokenOf = async (subject: string, lifeSeconds: number) => {
    const seconds = Date.now() / 1_000;
    const claims = { email: `${subject}@example.org`, email_verified: true, name: subject };
    const token = new SignJWT({ iss: JWT_ISSUER, sub: subject, exp: Math.floor(seconds + lifeSeconds), ...claims });
    return token.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(JWT_SECRET));
  };
  return { workspaceOf, keyOf, join, tokenOf: (subject, lifeSeconds = 3_600) => tokenOf(subject, lifeSeconds) };
}

async function callRoute(url: URL, call: CallOptions & { readonly method: string }): Promise<Reply> {
  const { method, key, body, headers } = call;
  const init: RequestInit = {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  };
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
